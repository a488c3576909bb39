// What the roles virtual_access:integration:{id}:manager and :resident let their holders open.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPortalSite, type PortalSite } from '../../../test/support/portal-site.ts';
import { signIn } from '../../../test/support/scenario-signin.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { ulid } from '../../kernel/ulid.ts';

type Headers = Record<string, string>;

describe('people with a building role', () => {
  let app: TestApp;
  let site: PortalSite;
  let door: string;
  let portal: string;

  beforeAll(async () => {
    app = await startTestApp();
    site = await createPortalSite(app);
    door = (await app.world.building(site.orgId)).entityId;
    portal = await site.portal([door]);
  });
  afterAll(() => app.close());

  const roleIn = (integrationId: string, role: string) =>
    `virtual_access:integration:${integrationId}:${role}`;
  const person = async (...roles: string[]) => {
    const userId = await app.world.user();
    await app.world.grant(site.orgId, userId, ...roles);
    return { userId, headers: await signIn(app, userId) };
  };
  const ask = (entityId: string, headers: Headers, path = 'switchable.open') =>
    app.request('POST', `/entities/${entityId}/actions/${path}`, { org: site.orgId, headers, body: {} });
  const askWith = (token: string, entityId: string) =>
    app.request('POST', `/entities/${entityId}/actions/switchable.open`, {
      token,
      body: {},
      headers: { 'idempotency-key': ulid() },
    });

  it.each(['resident', 'manager'])(
    'as its %s open and close a portal of the site, and preview says so',
    async (role) => {
      const { headers } = await person(roleIn(site.integrationId, role));
      const before = await site.demoCommands(door);
      const opened = await ask(portal, headers);
      expect([opened.status, opened.body.outcome], opened.text).toEqual([200, 'succeeded']);
      expect((await ask(portal, headers, 'switchable.close')).status).toBe(200);
      expect(await site.demoCommands(door)).toEqual([...before, 'open', 'close']);
      const preview = await ask(portal, headers, 'switchable.open/preview');
      expect([preview.status, preview.body.decision]).toEqual([200, 'allow']);
    },
  );

  it('can not act on what a portal opens through, and the denial names the policy', async () => {
    const { headers } = await person(roleIn(site.integrationId, 'resident'));
    const before = await site.demoCommands(door);
    const answer = await ask(door, headers);
    expect([answer.status, answer.body.code]).toEqual([403, 'policy_denied']);
    const preview = await ask(door, headers, 'switchable.open/preview');
    expect(preview.body.decision).toBe('deny');
    expect(preview.body.reasons).toMatchObject([{ policy_type: 'building_role', effect: 'deny' }]);
    expect(await site.demoCommands(door)).toEqual(before);
  });

  it('open nothing of another site, nor in another organization', async () => {
    const elsewhere = await createPortalSite(app);
    const theirs = await elsewhere.portal([(await app.world.building(elsewhere.orgId)).entityId]);
    const { headers, userId } = await person(roleIn(elsewhere.integrationId, 'resident'));
    expect((await ask(portal, headers)).body.code).toBe('policy_denied');
    expect((await ask(theirs, headers)).status).toBe(404);
    await app.world.grant(elsewhere.orgId, userId, 'orgs:read');
    const there = await app.request('POST', `/entities/${theirs}/actions/switchable.open`, {
      ...{ org: elsewhere.orgId, headers, body: {} },
    });
    expect([there.status, there.body.code]).toEqual([403, 'forbidden']);
  });

  it('stay bound by typed policies, and lose it with the role', async () => {
    const { headers, userId } = await person(roleIn(site.integrationId, 'resident'));
    const policy = await app.request('POST', `/integrations/${site.integrationId}/policies`, {
      token: site.token,
      org: site.orgId,
      body: {
        policy_type: 'quiet_hours',
        config: { start: '00:00', end: '23:59', applies_to: ['resident'] },
      },
    });
    expect(policy.status, policy.text).toBe(201);
    expect((await ask(portal, headers)).body.code).toBe('policy_denied');
    await app.db.query('delete from policies where id = $1', [policy.body.id]);
    expect((await ask(portal, headers)).status).toBe(200);
    await app.db.query('delete from role_grants where user_id = $1', [userId]);
    expect((await ask(portal, headers)).status).toBe(403);
  });

  it('open by their key and their agent what they open themselves, and no more', async () => {
    const { userId } = await person(roleIn(site.integrationId, 'resident'));
    const agentId = await app.world.agent(site.orgId, userId, { allowedEntityIds: [portal, door] });
    const key = await app.world.key(site.orgId, userId);
    const agent = await app.world.key(site.orgId, userId, { agentId });
    for (const { token } of [key, agent]) {
      expect((await askWith(token, portal)).status).toBe(200);
      expect((await askWith(token, door)).body.code).toBe('policy_denied');
    }
    const narrow = await app.world.key(site.orgId, userId, { scopedRoles: ['entities:read'] });
    expect((await askWith(narrow.token, portal)).body.code).toBe('forbidden');
  });
});

// Every way to one more of something, at the last place and over it. The mutants at the end show that the checks can fail.
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { registerPerson } from '../../test/support/people.ts';
import { type Answer, startTestApp, type TestApp } from '../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId, rootOrgId } from '../../test/support/test-world.ts';
import { ulid } from '../kernel/ulid.ts';

let app: TestApp;
let orgId: string;
let token: string;
let platform: string;
let building: BuildingIds;

beforeAll(async () => {
  app = await startTestApp();
  platform = (await app.world.key(rootOrgId, rootAdminId)).token;
});
afterAll(() => app.close());
beforeEach(async () => {
  orgId = await app.world.org();
  building = await app.world.building(orgId);
  token = (await app.world.key(orgId, rootAdminId)).token;
});

const limit = (key: string, value: number | null, org = orgId) =>
  app.db.query(
    `insert into quota_overrides (org_id, id, quota_key, period, limit_value) values ($1, $2, $3, 'lifetime', $4)
     on conflict (org_id, quota_key, period) do update set limit_value = excluded.limit_value`,
    [org, ulid(), key, value],
  );
const post = (path: string, body: unknown = {}, by = token) => app.request('POST', path, { token: by, body });
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

interface Way {
  readonly key: string;
  /** How many the organization has to begin with. */
  readonly present: number;
  create(): Promise<Answer>;
  /** Takes the first one out of the count, then back. */
  remove(id: string): Promise<Answer>;
  restore(id: string): Promise<Answer>;
}

const resource = (key: string, present: number, body: () => object): Way => ({
  key,
  present,
  create: () => post(`/${key}`, body()),
  remove: (id) => app.request('DELETE', `/${key}/${id}`, { token }),
  restore: (id) => post(`/${key}/${id}/restore`, undefined),
});

const ways: Way[] = [
  resource('entities', 1, () => ({ device_id: building.deviceId, entity_type: 'door' })),
  resource('devices', 1, () => ({ org_id: orgId, integration_id: building.integrationId, name: 'D' })),
  resource('zones', 1, () => ({ integration_id: building.integrationId, name: 'Z' })),
  resource('integrations', 1, () => ({ provider_type: 'virtual_demo', name: 'I' })),
  {
    key: 'api_keys',
    present: 1,
    create: () => post('/api-keys', { name: 'K', expires_at: inDays(1) }),
    remove: (id) => app.request('DELETE', `/api-keys/${id}`, { token }),
    restore: (id) => post(`/api-keys/${id}/restore`, undefined),
  },
  {
    key: 'organizations',
    present: 0,
    create: () => post('/orgs', { name: 'Child', parent_id: orgId }),
    remove: (id) => app.request('DELETE', `/orgs/${id}`, { token }),
    restore: (id) => post(`/orgs/${id}/restore`, undefined),
  },
  {
    key: 'org_users',
    present: 0,
    create: () =>
      app.request('POST', '/users', {
        token,
        org: orgId,
        body: { name: 'P', email: `${ulid().toLowerCase()}@q.test`, roles: { [orgId]: ['zones:list'] } },
      }),
    remove: (id) => app.request('DELETE', `/users/${id}`, { token, org: orgId }),
    restore: (id) => app.request('POST', `/users/${id}/restore`, { token, org: orgId }),
  },
];

describe.each(ways)('the quota $key', ({ key, present, create, remove, restore }) => {
  it('refuses one more than the limit with key, current and limit, and nothing of it stays', async () => {
    await limit(key, present + 1);
    const first = await create();
    expect(first.status, first.text).toBe(201);
    const second = await create();
    expect([second.status, second.body.code]).toEqual([429, 'quota_exceeded']);
    expect(second.body.details).toMatchObject([
      { key, period: 'lifetime', current: present + 1, limit: present + 1 },
    ]);
    const events = await app.db.query(`select outcome from audit_events where correlation_id = $1`, [
      second.headers['x-request-id'],
    ]);
    expect(events).toEqual([{ outcome: 'denied' }]);
    await limit(key, null);
    expect((await create()).status).toBe(201);
  });

  it('gives the last place to exactly one of many at once', async () => {
    await limit(key, present + 1);
    const answers = await Promise.all(Array.from({ length: 6 }, create));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 429, 429, 429, 429, 429]);
  });

  it('has room again when one is deleted, and asks again when it comes back', async () => {
    await limit(key, present + 1);
    const { id } = (await create()).body as { id: string };
    expect((await remove(id)).status).toBeLessThan(300);
    const other = await create();
    expect(other.status, other.text).toBe(201);
    const back = await restore(id);
    expect([back.status, back.body.code]).toEqual([429, 'quota_exceeded']);
    await limit(key, present + 2);
    expect((await restore(id)).status).toBeLessThan(300);
  });
});

describe('the quota api_keys', () => {
  it('counts the credentials of agents', async () => {
    const agent = await post('/agents', { name: 'A' });
    await limit('api_keys', 1);
    const refused = await post(`/agents/${String(agent.body.id)}/credentials`, {});
    expect([refused.status, refused.body.code]).toEqual([429, 'quota_exceeded']);
  });
});

describe('the quota org_users', () => {
  it('lets a member have a further role, even where there are more members than places', async () => {
    const member = await app.world.user();
    await app.world.grant(orgId, member, 'zones:list');
    await limit('org_users', 0);
    const more = await app.request('POST', `/users/${member}/roles`, {
      token,
      org: orgId,
      body: { [orgId]: ['zones:read'] },
    });
    expect(more.status, more.text).toBeLessThan(300);
  });

  it('refuses an invitation at its acceptance; there it can be tried again when there is room', async () => {
    const email = `${ulid().toLowerCase()}@invited.test`;
    const issued = (await post(`/orgs/${orgId}/invitations`, { email, default_roles: ['zones:list'] }))
      .body as unknown as { redeem_url: string; pin: string };
    const body = { token: issued.redeem_url.split('#token=')[1] ?? '', pin: issued.pin };
    const session = await registerPerson(app, email, body.token);
    await limit('org_users', 0);
    const redeem = () =>
      app.request('POST', '/invitations/redeem', { headers: { 'x-session-token': session }, body });
    const refused = await redeem();
    expect([refused.status, refused.body.code]).toEqual([429, 'quota_exceeded']);
    await limit('org_users', 1);
    expect((await redeem()).status).toBe(200);
  });
});

describe('the quota organizations', () => {
  it('is that of the new parent when an organization moves', async () => {
    const [full, child] = [await app.world.org(), await app.world.org()];
    await limit('organizations', 0, full);
    const moved = await app.request('PUT', `/orgs/${child}`, { token: platform, body: { parent_id: full } });
    expect([moved.status, moved.body.code]).toEqual([429, 'quota_exceeded']);
  });
});

describe('the lock of a limit', () => {
  const insertZone = (client: pg.Client) =>
    client.query(`insert into zones (org_id, id, integration_id, name) values ($1, $2, $3, '{"en":"Z"}')`, [
      orgId,
      ulid(),
      building.integrationId,
    ]);

  /** Two transactions, the second of them through its check, or stuck at it, before the first commits. */
  async function bothAtOnce(): Promise<string[]> {
    const clients = [0, 1].map(() => new pg.Client({ connectionString: app.db.url }));
    for (const client of clients) {
      await client.connect();
      await client.query('begin');
    }
    const [first, second] = clients as [pg.Client, pg.Client];
    await insertZone(first);
    let isThrough = false;
    const waiting = insertZone(second)
      .then(
        () => second.query('commit').then(() => 'in'),
        (error: unknown) => (error instanceof pg.DatabaseError ? (error.code ?? '') : 'lost'),
      )
      .finally(() => {
        isThrough = true;
      });
    await eventually(async () => isThrough || (await isBlocked(second)));
    await first.query('commit');
    const results = ['in', await waiting];
    for (const client of clients) await client.end();
    return results;
  }

  async function isBlocked(client: pg.Client): Promise<boolean> {
    const { processID } = client as unknown as { processID: number };
    const [row] = await app.db.query<{ waits: boolean | null }>(
      `select wait_event_type = 'Lock' as waits from pg_stat_activity where pid = $1`,
      [processID],
    );
    return row?.waits === true;
  }

  it('nobody waits where there is no limit', async () => {
    expect(await bothAtOnce()).toEqual(['in', 'in']);
  });

  it('keeps the second from the last place; without it both would get in', async () => {
    await limit('zones', 2);
    expect(await bothAtOnce()).toEqual(['in', 'LN002']);
    const [found] = await app.db.query<{ text: string }>(
      `select pg_get_functiondef('refuse_over_capacity'::regproc) as text`,
    );
    const mutant = found?.text.replace(/perform from org_epochs [^;]+;/, 'null;') ?? '';
    expect(mutant).not.toBe(found?.text);
    await limit('zones', 3);
    await app.db.query(mutant);
    expect(await bothAtOnce()).toEqual(['in', 'in']);
    await app.db.query(found?.text ?? '');
  });
});

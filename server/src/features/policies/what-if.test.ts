import type { WhatIf } from '@lintel/contract/what-if';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';

describe('what if', () => {
  let app: TestApp;
  let orgId: string;
  let building: BuildingIds;
  let admin: { userId: string; token: string; keyId: string };

  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    orgId = await app.world.org();
    building = await app.world.building(orgId);
    admin = await person('admin');
  });

  const person = async (...roles: string[]) => {
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, ...roles);
    const key = await app.world.key(orgId, userId);
    return { userId, token: key.token, keyId: key.id };
  };
  const ask = async (query: Record<string, string>, token = admin.token) =>
    await app.request('GET', `/orgs/${orgId}/policies/what-if?${new URLSearchParams(query)}`, { token });
  const answered = async (query: Record<string, string>) => {
    const answer = await ask(query);
    expect(answer.status, answer.text).toBe(200);
    return answer.body as unknown as WhatIf;
  };
  const open = (token: string, at?: string) =>
    app
      .request('POST', `/entities/${building.entityId}/actions/open`, { token, body: {} })
      .then(async (answer) => {
        expect(answer.status, answer.text).toBe(200);
        if (at !== undefined)
          await app.db.query('update audit_events set occurred_at = $2 where correlation_id = $1', [
            answer.body.correlation_id,
            at,
          ]);
      });
  const setPolicy = (policy_type: string, config: object, more = {}) =>
    app.request('POST', `/orgs/${orgId}/policies`, {
      token: admin.token,
      body: { policy_type, config, ...more },
    });
  const decisions = ({ principals }: WhatIf) =>
    Object.fromEntries((principals ?? []).map(({ id, decision }) => [id, decision]));

  it('who could open an entity at a time: people, keys and agents, with the reasons', async () => {
    const opener = await person('entities:set_state');
    const reader = await person('entities:read');
    const agentId = await app.world.agent(orgId, opener.userId, {
      allowedEntityIds: [building.entityId],
      confirmationMode: 'human',
    });
    const lonely = await app.world.agent(orgId, opener.userId, { allowedEntityIds: [] });
    for (const id of [agentId, lonely]) await app.world.key(orgId, opener.userId, { agentId: id });
    const quiet = await setPolicy('quiet_hours', { start: '22:00', end: '06:00', applies_to: ['api_key'] });
    const day = await answered({ entity_id: building.entityId, at: '2026-06-01T12:00:00Z' });
    expect(decisions(day)).toEqual({
      [rootAdminId]: 'allow',
      [admin.userId]: 'allow',
      [admin.keyId]: 'allow',
      [opener.userId]: 'allow',
      [opener.keyId]: 'allow',
      [reader.userId]: 'deny',
      [reader.keyId]: 'deny',
      [agentId]: 'approve',
      [lonely]: 'deny',
    });
    const night = await answered({ entity_id: building.entityId, at: '2026-06-01T23:00:00Z' });
    expect(decisions(night)).toMatchObject({ [opener.userId]: 'allow', [opener.keyId]: 'deny' });
    expect(night.principals?.find(({ id }) => id === opener.keyId)?.reasons).toMatchObject([
      { policy_id: quiet.body.id, policy_type: 'quiet_hours', effect: 'deny' },
    ]);
    expect(night).toMatchObject({ truncated: false, history: null });
  });

  it('counts administrators above and their keys, also where nobody is here', async () => {
    const childId = await app.world.org({ parentId: orgId });
    const child = await app.world.building(childId);
    const member = await person('entities:set_state', 'policies:manage');
    const narrow = await app.world.key(orgId, admin.userId, { scopedRoles: ['entities:set_state'] });
    const rootKey = await app.world.key(rootOrgId, rootAdminId, { scopedRoles: ['admin'] });
    const inChild = async (token: string) => {
      const path = `/orgs/${childId}/policies/what-if?entity_id=${child.entityId}`;
      const answer = await app.request('GET', path, { token });
      expect(answer.status, answer.text).toBe(200);
      return answer.body as unknown as WhatIf;
    };
    const fromRoot = await inChild(rootKey.token);
    expect(decisions(fromRoot)).toEqual({
      [rootAdminId]: 'allow',
      [rootKey.id]: 'allow',
      [admin.userId]: 'allow',
      [admin.keyId]: 'allow',
    });
    for (const id of [member.userId, member.keyId, narrow.id])
      expect(decisions(fromRoot)).not.toHaveProperty(id);
    const opened = await app.request('POST', `/entities/${child.entityId}/actions/open`, {
      token: admin.token,
      org: childId,
      body: {},
    });
    expect(opened.status, opened.text).toBe(200);

    // Whoever is administrator further down learns that there is one above, and neither name nor keys.
    const nameOfRoot = ({ principals }: WhatIf) => principals?.find(({ id }) => id === rootAdminId)?.name;
    expect(nameOfRoot(fromRoot)).toBe('Root admin');
    const fromAbove = await inChild(admin.token);
    expect(nameOfRoot(fromAbove)).toBe(`administrator of ${rootOrgId}`);
    expect(decisions(fromAbove)).not.toHaveProperty(rootKey.id);
    expect(decisions(fromAbove)).toHaveProperty(admin.keyId);
    const manager = await app.world.user();
    await app.world.grant(childId, manager, 'policies:manage');
    const fromHere = await inChild((await app.world.key(childId, manager)).token);
    expect(decisions(fromHere)).toMatchObject({ [rootAdminId]: 'allow', [admin.userId]: 'allow' });
    expect(decisions(fromHere)).not.toHaveProperty(admin.keyId);
    await app.db.query('update api_keys set revoked_at = now() where id = $1', [rootKey.id]);
  });

  it('counts who has a role in the building, and for no other one', async () => {
    const elsewhere = await app.world.building(orgId);
    const manager = await person(`virtual_access:integration:${building.integrationId}:manager`);
    const resident = await person(`virtual_access:integration:${building.integrationId}:resident`);
    const stranger = await person(`virtual_access:integration:${elsewhere.integrationId}:manager`);
    expect(decisions(await answered({ entity_id: building.entityId }))).toMatchObject({
      [manager.userId]: 'allow',
      [resident.userId]: 'allow',
      [stranger.userId]: 'deny',
    });
  });

  it('knows which keys and agents are still good at that time', async () => {
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
    const key = (days: number, agentId?: string) =>
      app.world.key(orgId, admin.userId, { expiresAt: inDays(days), ...(agentId ? { agentId } : {}) });
    const agent = async (...days: number[]) => {
      const id = await app.world.agent(orgId, admin.userId, { allowedEntityIds: [building.entityId] });
      for (const day of days) await key(day, id);
      return id;
    };
    const ids = {
      short: (await key(1)).id,
      long: (await key(20)).id,
      past: (await key(-1)).id,
      shortAgent: await agent(1, 2),
      longAgent: await agent(1, 20),
      endedAgent: await agent(20),
      bareAgent: await agent(),
    };
    await app.db.query('update agents set expires_at = $2 where id = $1', [ids.endedAgent, inDays(5)]);
    const goodAt = async (days: number) => {
      const answer = decisions(
        await answered({ entity_id: building.entityId, at: inDays(days).toISOString() }),
      );
      return Object.entries(ids).flatMap(([name, id]) => (answer[id] === 'allow' ? [name] : []));
    };
    expect(await goodAt(0)).toEqual(['short', 'long', 'shortAgent', 'longAgent', 'endedAgent']);
    expect(await goodAt(10)).toEqual(['long', 'longAgent']);
    expect(await goodAt(30)).toEqual([]);
    expect(await goodAt(-2)).toContain('past');
  });

  it('agrees with what a request of now is told', async () => {
    const reader = await person('entities:read');
    await setPolicy('require_step_up', { applies_to: ['api_key'] });
    const answer = decisions(await answered({ entity_id: building.entityId }));
    for (const { token, keyId } of [admin, reader]) {
      const preview = await app.request('POST', `/entities/${building.entityId}/actions/open/preview`, {
        token,
        body: {},
      });
      expect(answer[keyId]).toBe(preview.status === 403 ? 'deny' : preview.body.decision);
    }
    expect(answer[admin.keyId]).toBe('confirm');
  });

  it('knows of holds and of lockdown', async () => {
    await app.request('PUT', `/entities/${building.entityId}/hold`, {
      token: admin.token,
      body: { mode: 'hold_closed', recurrence: { days: [1], start: '10:00', end: '11:00' } },
    });
    const at = async (moment: string) =>
      decisions(await answered({ entity_id: building.entityId, at: moment }))[admin.userId];
    expect(await at('2026-06-01T10:30:00Z')).toBe('deny');
    expect(await at('2026-06-01T11:00:00Z')).toBe('allow');
    expect(await at('2026-06-02T10:30:00Z')).toBe('allow');
  });

  it('which opens of the last 30 days a draft would have denied, by their own time and caller', async () => {
    const opener = await person('entities:set_state');
    const day = new Date(Date.now() - 5 * 86_400_000).toISOString().slice(0, 10);
    await open(admin.token, `${day}T12:00:00Z`);
    await open(admin.token, `${day}T23:30:00Z`);
    await open(opener.token, `${day}T23:45:00Z`);
    await open(opener.token, new Date(Date.now() - 31 * 86_400_000).toISOString());
    const draft = { policy_type: 'quiet_hours', config: { start: '23:00', end: '23:59' } };
    const { history } = await answered({ draft: JSON.stringify(draft) });
    expect(history).toMatchObject({ examined: 3, skipped: 0, denied: 2, approval_required: 0 });
    expect(history?.examples).toMatchObject([
      { actor_kind: 'api_key', actor_id: opener.keyId, effect: 'deny', entity_id: building.entityId },
      { actor_id: admin.keyId, occurred_at: `${day}T23:30:00.000Z` },
    ]);
    const asking = { ...draft, enforcement: 'require_approval' };
    expect((await answered({ draft: JSON.stringify(asking) })).history).toMatchObject({
      denied: 0,
      approval_required: 2,
    });
    const elsewhere = { ...draft, integration_id: (await app.world.building(orgId)).integrationId };
    expect((await answered({ draft: JSON.stringify(elsewhere) })).history).toMatchObject({
      examined: 3,
      denied: 0,
    });
    const here = { ...draft, integration_id: building.integrationId, device_id: building.deviceId };
    expect((await answered({ draft: JSON.stringify(here) })).history).toMatchObject({ denied: 2 });
    const agents = { policy_type: 'require_step_up', config: { applies_to: ['agent'] } };
    expect((await answered({ draft: JSON.stringify(agents) })).history).toMatchObject({
      confirmation_required: 0,
    });
  });

  it('says when there were more opens than it looked at, and since when it did', async () => {
    await app.db.query(
      `insert into audit_events (org_id, occurred_at, id, event_type, outcome, source, actor_kind, actor_api_key_id,
         resource_type, resource_id, details)
       select $1, now() - make_interval(mins => n), lpad(n::text, 26, '0'), 'entity.action', 'succeeded', 'api',
         'api_key', $2, 'entity', $3, '{"command": "open"}' from generate_series(1, 5000) n`,
      [orgId, admin.keyId, building.entityId],
    );
    const draft = JSON.stringify({ policy_type: 'require_step_up', config: {} });
    const whole = (await answered({ draft })).history;
    expect(whole).toMatchObject({ truncated: false, examined: 5000, confirmation_required: 5000 });
    expect(Date.now() - Date.parse(whole?.since ?? '')).toBeGreaterThan(29 * 86_400_000);
    await open(admin.token);
    const cut = (await answered({ draft })).history;
    expect(cut).toMatchObject({ truncated: true, examined: 5000 });
    expect(Date.now() - Date.parse(cut?.since ?? '')).toBeLessThan(4 * 86_400_000);
  });

  it.each([
    ['/draft/config/start', { policy_type: 'quiet_hours', config: { start: 'noon', end: '13:00' } }],
    ['/draft/config/policy', { policy_type: 'cedar', config: { policy: 'permit' } }],
    ['/draft/policy_type', { policy_type: 'no_such_kind', config: {} }],
    ['/draft/config', { policy_type: 'quiet_hours' }],
    ['/draft/capability', { policy_type: 'require_step_up', config: {}, capability: 'flying' }],
  ])('tells what is wrong with a draft by its place in the request: %s', async (path, draft) => {
    const answer = await ask({ draft: JSON.stringify(draft) });
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_error', details: [{ path }] } });
    expect(answer.body.message).toContain(path);
  });

  it('a draft counts in who could open, and is written nowhere', async () => {
    const draft = {
      policy_type: 'cedar',
      config: { policy: 'forbid (principal is ApiKey, action, resource);' },
    };
    const answer = await answered({ entity_id: building.entityId, draft: JSON.stringify(draft) });
    expect(decisions(answer)).toMatchObject({ [admin.userId]: 'allow', [admin.keyId]: 'deny' });
    expect((await app.request('GET', `/orgs/${orgId}/policies`, { token: admin.token })).body).toEqual([]);
    await open(admin.token);
  });

  it.each([
    ['neither question', {}, 400],
    ['an entity that is not there', { entity_id: '01AAAAAAAAAAAAAAAAAAAAAAAA' }, 404],
    ['no JSON', { draft: '{"' }, 400],
    ['a draft of another shape', { draft: '{"policy_type": "cedar"}' }, 400],
    ['a config of another shape', { draft: '{"policy_type": "quiet_hours", "config": {}}' }, 400],
    [
      'a foreign integration',
      { draft: '{"policy_type":"require_step_up","config":{},"integration_id":"x"}' },
      404,
    ],
  ])('refuses %s', async (_name, query, status) => {
    expect((await ask(query as Record<string, string>)).status).toBe(status);
  });

  it('is for those who manage policies', async () => {
    const reader = await person('entities:read');
    expect((await ask({ entity_id: building.entityId }, reader.token)).status).toBe(403);
    const manager = await person('policies:manage');
    expect((await ask({ entity_id: building.entityId }, manager.token)).status).toBe(200);
  });
});

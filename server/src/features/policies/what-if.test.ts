import type { WhatIf } from '@lintel/contract/what-if';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';

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
    const quiet = await setPolicy('quiet_hours', { start: '22:00', end: '06:00', applies_to: ['api_key'] });
    const day = await answered({ entity_id: building.entityId, at: '2026-06-01T12:00:00Z' });
    expect(decisions(day)).toEqual({
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

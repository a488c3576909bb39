// Policies through the whole service. That a preview says what an execute does is in test/faults/preview.test.ts.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import type { BuildingIds } from '../../test/support/test-world.ts';
import { ulid } from '../kernel/ulid.ts';

interface NewPolicy {
  readonly type: string;
  readonly config?: Record<string, unknown>;
  readonly org?: string;
  readonly scope?: 'org' | 'integration' | 'device';
  readonly enforcement?: string;
}

const always = { start: '00:00', end: '23:59' };

describe('policies', () => {
  let app: TestApp;
  let parent: string;
  let orgId: string;
  let building: BuildingIds;
  let tokens: Record<'key' | 'agent', string>;

  beforeAll(async () => {
    app = await startTestApp();
    parent = await app.world.org();
    orgId = await app.world.org({ parentId: parent });
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, 'entities:set_state');
    building = await app.world.building(orgId);
    const agentId = await app.world.agent(orgId, userId, { allowedEntityIds: [building.entityId] });
    tokens = {
      key: (await app.world.key(orgId, userId)).token,
      agent: (await app.world.key(orgId, userId, { agentId })).token,
    };
  });
  afterAll(() => app.close());
  beforeEach(() => app.db.query('delete from policies'));

  async function add({ type, config = {}, org = orgId, scope = 'org', enforcement = 'enforce' }: NewPolicy) {
    const id = ulid();
    await app.db.query(
      `insert into policies (org_id, id, scope, integration_id, device_id, policy_type, config, enforcement)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        org,
        id,
        scope,
        scope === 'org' ? null : building.integrationId,
        scope === 'device' ? building.deviceId : null,
        type,
        config,
        enforcement,
      ],
    );
    return id;
  }

  const post = (path: string, token: string) =>
    app.request('POST', `/entities/${building.entityId}/actions/${path}`, {
      token,
      body: {},
      headers: { 'idempotency-key': ulid() },
    });
  const events = (correlationId: unknown) =>
    app.db.query<{ outcome: string; details: Record<string, unknown> }>(
      'select outcome, details from audit_events where correlation_id = $1',
      [correlationId],
    );

  it('of an organization above hold, and every denial names its policy', async () => {
    const id = await add({ type: 'quiet_hours', config: always, org: parent });
    const answer = await post('open', tokens.key);
    expect(answer.status, answer.text).toBe(403);
    expect(answer.body).toMatchObject({
      code: 'policy_denied',
      message: expect.stringContaining(`quiet_hours ${id}`),
    });
    const [event, ...more] = await events(answer.body.correlationId);
    expect(event).toMatchObject({
      outcome: 'denied',
      details: { policy_id: id, policy_type: 'quiet_hours' },
    });
    expect(more).toEqual([]);
  });

  it('never stand in the way of a close', async () => {
    await add({ type: 'quiet_hours', config: always });
    await add({ type: 'require_step_up', enforcement: 'require_approval' });
    expect((await post('close', tokens.key)).status).toBe(200);
  });

  it('are gone with the next request after they were removed', async () => {
    await add({ type: 'quiet_hours', config: always, scope: 'device' });
    expect((await post('open', tokens.key)).status).toBe(403);
    await app.db.query('delete from policies');
    expect((await post('open', tokens.key)).status).toBe(200);
  });

  it('that only watch leave what they would have done in the event', async () => {
    const id = await add({ type: 'quiet_hours', config: always, enforcement: 'audit_only' });
    const answer = await post('open', tokens.key);
    expect(answer.status, answer.text).toBe(200);
    const [event] = await events(answer.body.correlation_id);
    expect(event?.details.would_have).toEqual([
      { policy_id: id, policy_type: 'quiet_hours', scope: 'org', effect: 'deny' },
    ]);
  });

  it('ask somebody else once, however often they are met, and an approval opens once', async () => {
    await add({ type: 'require_step_up', enforcement: 'require_approval' });
    await add({ type: 'approval_threshold', config: { count: 3 }, org: parent });
    const first = await post('open', tokens.key);
    expect(first.body, first.text).toMatchObject({ code: 'approval_required' });
    expect((await post('open', tokens.key)).body.code).toBe('approval_required');
    const asked = await app.db.query<{ id: string; required_count: number }>(
      'select id, required_count from policy_approvals',
    );
    expect(asked).toEqual([{ id: expect.any(String), required_count: 3 }]);
    expect(first.body.message).toContain(asked[0]?.id);
    await app.db.query(`update policy_approvals set status = 'approved'`);
    expect((await post('open', tokens.agent)).body.code).toBe('approval_required');
    expect((await post('open', tokens.key)).status).toBe(200);
    expect((await post('open', tokens.key)).body.code).toBe('approval_required');
  });
});

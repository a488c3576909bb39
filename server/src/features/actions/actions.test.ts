import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { soon } from '../../../test/support/eventually.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';

interface Line {
  intent_id: string;
  entity_id: string;
  command: string;
}

describe('entity actions', () => {
  let app: TestApp;
  let orgId: string;
  let userId: string;
  let token: string;
  let building: BuildingIds;

  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org();
    userId = await app.world.user();
    await app.world.grant(orgId, userId, 'admin');
    token = (await app.world.key(orgId, userId)).token;
    building = await app.world.building(orgId);
  });
  afterAll(() => app.close());

  const act = (
    action: string,
    options: { token?: string; entityId?: string; body?: unknown; headers?: Record<string, string> } = {},
  ) =>
    app.request('POST', `/entities/${options.entityId ?? building.entityId}/actions/${action}`, {
      token: options.token ?? token,
      body: options.body ?? {},
      ...(options.headers ? { headers: options.headers } : {}),
    });
  const deviceLog = async (entityId: string): Promise<Line[]> => {
    const text = await readFile(join(app.dataDir, 'virtual-demo', 'commands.jsonl'), 'utf8').catch(() => '');
    const lines = text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line);
    return lines.filter((line) => line.entity_id === entityId);
  };
  const eventsOf = (correlationId: string) =>
    app.db.query<{ event_type: string; outcome: string; details: Record<string, unknown> }>(
      'select event_type, outcome, details from audit_events where correlation_id = $1',
      [correlationId],
    );

  it('opens a door and leaves one event with the same correlation id', async () => {
    const answer = await act('switchable.open', { headers: { 'x-correlation-id': 'my-own-id' } });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      ok: true,
      correlation_id: 'my-own-id',
      outcome: 'succeeded',
      state: 'open',
      state_source: 'observed',
      door_open_duration_seconds: 5,
    });
    expect(answer.headers['x-request-id']).toBe('my-own-id');
    const events = await eventsOf('my-own-id');
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      event_type: 'entity.action',
      outcome: 'succeeded',
      details: { resource_name: 'Front door', attempt_id: answer.body.attempt_id },
    });
    expect((await deviceLog(building.entityId)).map((line) => line.intent_id)).toContain(
      answer.body.attempt_id,
    );
  });

  it.each([
    ['open', 'open'],
    ['on', 'open'],
    ['close', 'closed'],
    ['off', 'closed'],
  ])('accepts the short name %s', async (action, state) => {
    expect((await act(action)).body).toMatchObject({ state });
  });

  it('turns a toggle into the opposite of the observed state', async () => {
    // A door that does not close by itself, and has said all that it says by itself.
    const { entityId } = await app.world.building(orgId, { config: { auto_close_seconds: 0 } });
    await vi.waitFor(async () => {
      const reported = await app.db.query('select status from entity_states where entity_id = $1', [
        entityId,
      ]);
      expect(reported).toEqual([{ status: 'closed' }]);
    }, soon);
    expect((await act('toggle', { entityId })).body.state).toBe('open');
    expect((await act('toggle', { entityId })).body.state).toBe('closed');
    const sent = (await deviceLog(entityId)).map((line) => line.command);
    expect(sent).toEqual(['open', 'close']);
  });

  it('answers 501 for what the entity can not do', async () => {
    const sensor = await app.world.building(orgId, { entityType: 'sensor' });
    expect((await act('switchable.open', { entityId: sensor.entityId })).body.code).toBe(
      'action_not_implemented',
    );
    expect((await act('dimmable.set')).status).toBe(501);
    expect((await act('constructor')).status).toBe(501);
  });

  it('replays the stored result for the same key and refuses the key for another request', async () => {
    const headers = { 'idempotency-key': 'once' };
    const before = (await deviceLog(building.entityId)).length;
    const first = await act('open', { headers });
    const second = await act('open', { headers });
    const other = await act('close', { headers });
    expect(second.body).toEqual({ ...first.body, replayed: true });
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_key_conflict']);
    expect((await deviceLog(building.entityId)).length).toBe(before + 1);
  });

  it('sends one command for 40 parallel requests with one key', async () => {
    const slow = await app.world.building(orgId, { config: { latency_ms: 50 } });
    const headers = { 'idempotency-key': 'storm' };
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => act('open', { entityId: slow.entityId, headers })),
    );
    expect(await deviceLog(slow.entityId)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 200).length).toBeGreaterThanOrEqual(1);
    for (const answer of answers) expect([200, 409]).toContain(answer.status);
  });

  it('lets one of many parallel opens through a minimum interval, and burns nothing for the others', async () => {
    const paced = await app.world.building(orgId, { config: { min_interval_ms: 60_000 } });
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => act('open', { entityId: paced.entityId })),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    const limited = answers.filter((answer) => answer.status === 429);
    expect(limited).toHaveLength(29);
    expect(limited[0]?.body.code).toBe('provider_open_rate_limited');
    expect(Number(limited[0]?.headers['retry-after'])).toBeGreaterThan(0);
    expect(await deviceLog(paced.entityId)).toHaveLength(1);
    expect((await act('close', { entityId: paced.entityId })).status).toBe(200);
  });

  it.each([
    ['refuse', 409, 'device_refused', 'failed', 1],
    ['unreachable', 502, 'device_unreachable', 'failed', 0],
    ['lose_reply', 409, 'outcome_unknown', 'unknown', 1],
  ])('tells honestly what became of a command: %s', async (mode, status, code, outcome, commands) => {
    const faulty = await app.world.building(orgId, { config: { failure_rate: 1, failure_mode: mode } });
    const answer = await act('open', {
      entityId: faulty.entityId,
      headers: { 'idempotency-key': `fault-${mode}` },
    });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect((await eventsOf(answer.body.correlationId ?? '')).map((event) => event.outcome)).toEqual([
      outcome,
    ]);
    expect(await deviceLog(faulty.entityId)).toHaveLength(commands);
  });

  it('repeats no command of unknown fate, and allows a retry of one that provably never left', async () => {
    const lost = await app.world.building(orgId, { config: { failure_rate: 1, failure_mode: 'lose_reply' } });
    const away = await app.world.building(orgId, {
      config: { failure_rate: 1, failure_mode: 'unreachable' },
    });
    const headers = { 'idempotency-key': 'retry' };
    await act('open', { entityId: lost.entityId, headers: { 'idempotency-key': 'retry-lost' } });
    const again = await act('open', {
      entityId: lost.entityId,
      headers: { 'idempotency-key': 'retry-lost' },
    });
    expect(again.body.code).toBe('outcome_unknown');
    expect(await deviceLog(lost.entityId)).toHaveLength(1);
    await act('open', { entityId: away.entityId, headers });
    await app.db.query(`update integrations set config = '{}' where id = $1`, [away.integrationId]);
    expect((await act('open', { entityId: away.entityId, headers })).status).toBe(200);
  });

  it('refuses a paused integration', async () => {
    const paused = await app.world.building(orgId);
    await app.db.query('update integrations set enabled = false where id = $1', [paused.integrationId]);
    expect((await act('open', { entityId: paused.entityId })).body.code).toBe('integration_disabled');
    expect(await deviceLog(paused.entityId)).toHaveLength(0);
  });

  it('keeps keys and agents to their entities, and audits the denial once', async () => {
    const other = await app.world.building(orgId);
    const scoped = await app.world.key(orgId, userId, {
      scopedRoles: ['entities:set_state'],
      scopedEntityIds: [building.entityId],
    });
    expect((await act('open', { token: scoped.token })).status).toBe(200);
    const denied = await act('open', { token: scoped.token, entityId: other.entityId });
    expect([denied.status, denied.body.code]).toEqual([403, 'policy_denied']);
    const events = await eventsOf(denied.body.correlationId ?? '');
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      event_type: 'entity.action',
      outcome: 'denied',
      details: { policy_type: 'api_key_scope' },
    });
    expect(await deviceLog(other.entityId)).toHaveLength(0);
  });

  it('needs an idempotency key from an agent, and nothing is allowed without a list', async () => {
    const agentId = await app.world.agent(orgId, userId);
    const agent = await app.world.key(orgId, userId, { agentId });
    expect((await act('open', { token: agent.token })).body.code).toBe('idempotency_key_required');
    const denied = await act('open', { token: agent.token, headers: { 'idempotency-key': 'a' } });
    expect(denied.body.code).toBe('policy_denied');
    await app.db.query('update agents set allowed_entity_ids = $2 where id = $1', [
      agentId,
      [building.entityId],
    ]);
    const opened = await act('open', { token: agent.token, headers: { 'idempotency-key': 'a' } });
    expect(opened.status).toBe(200);
    expect(
      await app.db.query('select actor_kind, actor_agent_id from audit_events where correlation_id = $1', [
        opened.body.correlation_id,
      ]),
    ).toEqual([{ actor_kind: 'agent', actor_agent_id: agentId }]);
  });

  it('asks an agent in mode always to confirm, once, for this exact request', async () => {
    const agentId = await app.world.agent(orgId, userId, {
      allowedEntityIds: [building.entityId],
      confirmationMode: 'always',
    });
    const agent = (await app.world.key(orgId, userId, { agentId })).token;
    const send = (key: string, confirm?: string, body: unknown = {}) =>
      act('open', {
        token: agent,
        body,
        headers: { 'idempotency-key': key, ...(confirm ? { 'x-service-confirm': confirm } : {}) },
      });
    const asked = await send('c1');
    expect([asked.status, asked.body.code]).toEqual([409, 'confirmation_required']);
    const proof = asked.body.preview_token;
    expect((await send('c2', proof, { auto_close: 3 })).body.code).toBe('confirmation_invalid');
    const answers = await Promise.all(['p1', 'p2', 'p3', 'p4', 'p5'].map((key) => send(key, proof)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409, 409, 409, 409]);
    expect((await act('close', { token: agent, headers: { 'idempotency-key': 'cl' } })).status).toBe(200);
  });

  it.each(['', '   ', 'x', '0'])('takes %j for no proof', async (confirm) => {
    const agentId = await app.world.agent(orgId, userId, {
      allowedEntityIds: [building.entityId],
      confirmationMode: 'always',
    });
    const agent = (await app.world.key(orgId, userId, { agentId })).token;
    const before = (await deviceLog(building.entityId)).length;
    const headers = { 'idempotency-key': `empty${confirm}`, 'x-service-confirm': confirm };
    const answer = await act('open', { token: agent, headers });
    expect(answer.status, answer.text).toBe(409);
    expect(await deviceLog(building.entityId)).toHaveLength(before);
  });

  it('previews without hardware, quota or event', async () => {
    const before = (await deviceLog(building.entityId)).length;
    const answer = await app.request('POST', `/entities/${building.entityId}/actions/open/preview`, {
      token,
      body: {},
    });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      decision: 'allow',
      confirmation_required: false,
      reasons: [],
      effect: {
        entity: 'Front door',
        door: 'Door',
        action: 'switchable.open',
        provider_type: 'virtual_demo',
        pulse_seconds: 5,
      },
      provider: { health: 'ok', min_interval_ms: 0, ready_in_ms: 0 },
    });
    const quotas = answer.body.quotas as { key: string; current: number; limit: null }[];
    expect(quotas.map((quota) => quota.key)).toEqual(['door_opens', 'door_opens', 'voice_invocations']);
    expect(quotas[0]?.current).toBeGreaterThan(0);
    expect((await deviceLog(building.entityId)).length).toBe(before);
    expect(await eventsOf(String(answer.headers['x-request-id']))).toHaveLength(0);
  });

  it('counts opens exactly', async () => {
    const counted = await app.world.org();
    await app.world.grant(counted, userId, 'admin');
    const ids = await app.world.building(counted);
    const key = (await app.world.key(counted, userId)).token;
    await Promise.all(Array.from({ length: 25 }, () => act('open', { token: key, entityId: ids.entityId })));
    await act('close', { token: key, entityId: ids.entityId });
    const rows = await app.db.query<{ key: string; total: string }>(
      'select key, sum(count)::text as total from usage_counters where org_id = $1 group by key order by key',
      [counted],
    );
    expect(rows).toEqual([
      { key: 'door_opens', total: '25' },
      { key: 'voice_invocations', total: '25' },
    ]);
  });

  it('closes the intents of a lost node as unknown, with one event, and never sends them', async () => {
    await app.db.query(
      `insert into intents (org_id, id, entity_id, device_id, integration_id, action_id, principal_kind, principal_id, actor, source,
         details, correlation_id, fingerprint, not_after)
       select org_id, '01KZZZZZZZZZZZZZZZZZZZZZZZ', entity_id, device_id, integration_id, action_id, principal_kind, principal_id, actor,
         source, details, 'lost-one', fingerprint, now() - interval '1 minute' from intents where org_id = $1 limit 1`,
      [orgId],
    );
    const before = (await deviceLog(building.entityId)).length;
    const second = await app.secondNode();
    expect((await eventsOf('lost-one')).map((event) => event.outcome)).toEqual(['unknown']);
    expect((await deviceLog(building.entityId)).length).toBe(before);
    await second.close();
  });
});

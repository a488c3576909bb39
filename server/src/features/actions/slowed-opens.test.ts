// Limits of opens: never a refusal, but a wait before anything is written, and an answer that says so.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { listen } from '../../../test/support/scenario-sockets.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId } from '../../../test/support/test-world.ts';
import { createSlowDown } from '../../engine/slow-down.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('opens above a limit', () => {
  let app: TestApp;
  let orgId: string;
  let token: string;
  let building: BuildingIds;
  let wait: (ms: number) => Promise<unknown>;

  beforeAll(async () => {
    app = await startTestApp({
      wrapEngine: (deps) => {
        const { db, slowedUse: use } = deps;
        return { ...deps, slowDown: createSlowDown({ db, use, wait: (ms) => wait(ms) }) };
      },
    });
  });
  afterAll(() => app.close());
  beforeEach(async () => {
    wait = delay;
    orgId = await app.world.org();
    building = await app.world.building(orgId);
    token = (await app.world.key(orgId, rootAdminId)).token;
  });

  const limit = (key: string, period: string, value: number) =>
    app.db.query(
      'insert into quota_overrides (org_id, id, quota_key, period, limit_value) values ($1, $2, $3, $4, $5)',
      [orgId, ulid(), key, period, value],
    );
  const act = (action: string, headers: Record<string, string> = {}) =>
    app.request('POST', `/entities/${building.entityId}/actions/${action}`, { token, body: {}, headers });
  const counted = () =>
    app.db.query<{ key: string; total: number }>(
      'select key, sum(count)::int as total from usage_counters where org_id = $1 group by key order by key',
      [orgId],
    );
  const commands = async () => {
    const text = await readFile(join(app.dataDir, 'virtual-demo', 'commands.jsonl'), 'utf8').catch(() => '');
    const lines = text.split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line)).filter((line) => line.entity_id === building.entityId);
  };

  it('wait and say for what; those within it, closing and preview do not', async () => {
    await limit('door_opens', 'day', 1);
    await limit('voice_invocations', 'day', 50);
    const first = await act('open');
    expect([first.status, first.body.degradation]).toEqual([200, undefined]);
    const second = await act('open', { 'idempotency-key': 'once' });
    expect(second.status, second.text).toBe(200);
    expect(second.body.degradation).toMatchObject({
      stage: 'degraded',
      key: 'door_opens',
      period: 'day',
      current: 2,
      limit: 1,
      delayed_ms: 1_000,
    });
    const again = await act('open', { 'idempotency-key': 'once' });
    expect(again.body).toMatchObject({ replayed: true, degradation: { current: 2 } });
    expect((await act('close')).body.degradation).toBeUndefined();
    const preview = await act('open/preview');
    expect(preview.body.quotas).toEqual([
      { key: 'door_opens', period: 'day', current: 2, limit: 1 },
      { key: 'door_opens', period: 'month', current: 2, limit: null },
      { key: 'voice_invocations', period: 'day', current: 2, limit: 50 },
    ]);
    expect(await counted()).toEqual([
      { key: 'door_opens', total: 2 },
      { key: 'voice_invocations', total: 2 },
    ]);
  });

  it('hold no connection to the database and no intent while they wait; who leaves then opens nothing', async () => {
    await limit('door_opens', 'month', 0);
    const waits = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    wait = () => {
      waits.resolve();
      return over.promise;
    };
    const { port } = await listen(app);
    const connected = once(app.app.http.server, 'connection');
    const socket = connect({ port, host: '127.0.0.1' });
    const seen = vi.fn();
    socket.on('data', seen);
    const path = `/api/v1/entities/${building.entityId}/actions/open`;
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
        'Content-Length: 2\r\nX-Correlation-Id: left-early\r\n\r\n{}',
    );
    await waits.promise;
    expect((await app.request('GET', '/me/profile', { token })).status).toBe(200);
    expect(await app.db.query('select id from intents where org_id = $1', [orgId])).toEqual([]);
    const [atServer] = (await connected) as [Socket];
    const left = once(atServer, 'close');
    socket.destroy();
    await left;
    wait = delay;
    over.resolve();
    // A later open waits longer than the one that was left: when it is through, that one would have been.
    const later = await act('open');
    expect(later.body.degradation).toMatchObject({ limit: 0 });
    expect(await commands()).toHaveLength(1);
    expect(seen).not.toHaveBeenCalled();
  });

  it('wait on every node, whichever counted the others', async () => {
    await limit('door_opens', 'day', 1);
    const second = await app.secondNode();
    expect((await act('open')).body.degradation).toBeUndefined();
    const path = `/entities/${building.entityId}/actions/open`;
    const answer = await second.request('POST', path, { token, body: {} });
    await second.close();
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.degradation).toMatchObject({ current: 2, limit: 1 });
  });

  it('are as fast as ever when the limit is taken away', async () => {
    await limit('door_opens', 'day', 0);
    expect((await act('open')).body.degradation).toMatchObject({ current: 1, limit: 0 });
    await app.db.query('delete from quota_overrides where org_id = $1', [orgId]);
    expect((await act('open')).body.degradation).toBeUndefined();
  });

  it('hundreds at once: the counters equal the log of the device, and nobody is refused', async () => {
    for (let wave = 0; wave < 10; wave += 1) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => act('open')));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    }
    expect(await commands()).toHaveLength(500);
    expect(await counted()).toEqual([
      { key: 'door_opens', total: 500 },
      { key: 'voice_invocations', total: 500 },
    ]);
  });
});

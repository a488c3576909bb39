// Tests 14, 19, 20, 21, 22 and 24 of design/reliability.md, through the real application on two nodes.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gather } from '../support/scenario-parallel.ts';
import { type Answer, startTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts';
import type { BuildingIds } from '../support/test-world.ts';
import { type EngineMutantName, engineMutants } from './mutants/engine-mutants.ts';
import { type SqlMutantName, withSqlMutant } from './mutants/sql-mutants.ts';
import { createRandom, note, scaled, seed } from './scale.ts';

interface Scene {
  readonly orgId: string;
  readonly userId: string;
  readonly agentId: string;
  /** Of an agent that must confirm everything. */
  readonly agent: string;
  readonly token: string;
  readonly building: BuildingIds;
}

interface Sent {
  readonly token: string;
  readonly entityId: string;
  readonly action?: string;
  readonly key?: string;
  readonly proof?: string;
  readonly org?: string;
  readonly body?: unknown;
}

const countOf = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

describe(`races, seed ${seed}`, () => {
  let first: TestApp;
  let second: TestApp;

  beforeAll(async () => {
    first = await startTestApp();
    second = await first.secondNode();
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });

  const send = (node: TestApp, { token, entityId, action = 'open', key, proof, org, body = {} }: Sent) =>
    node.request('POST', `/entities/${entityId}/actions/${action}`, {
      token,
      body,
      headers: {
        ...(key ? { 'idempotency-key': key } : {}),
        ...(proof ? { 'x-service-confirm': proof } : {}),
        ...(org ? { 'x-org': org } : {}),
      },
    });
  async function scene(config: Record<string, unknown> = {}): Promise<Scene> {
    const { world } = first;
    const orgId = await world.org();
    const userId = await world.user();
    await world.grant(orgId, userId, 'admin');
    const building = await world.building(orgId, { config });
    const agentId = await world.agent(orgId, userId, {
      confirmationMode: 'always',
      allowedEntityIds: [building.entityId],
    });
    const agent = (await world.key(orgId, userId, { agentId })).token;
    const { token } = await world.key(orgId, userId);
    return { orgId, userId, agentId, agent, token, building };
  }
  /** How often the device itself was told, on whichever node. */
  function commandsOf(entityId: string, nodes: readonly TestApp[] = [first, second]): number {
    return [...new Set(nodes)]
      .map(({ dataDir }) => join(dataDir, 'virtual-demo', 'commands.jsonl'))
      .map((file) => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
      .flatMap((text) => text.split('\n'))
      .filter((line) => line.includes(entityId)).length;
  }
  /** A node with a fault, only for `work`. */
  async function withMutant<T>(
    name: EngineMutantName,
    work: (node: TestApp) => Promise<T>,
    options: TestAppOptions = {},
  ): Promise<T> {
    const node = await first.secondNode({ ...options, wrapEngine: engineMutants[name] });
    try {
      return await work(node);
    } finally {
      await node.close();
    }
  }
  const withSql = <T>(name: SqlMutantName, work: () => Promise<T>) => withSqlMutant(first.db, name, work);
  /** Connections that are open before the race begins: else the first requests would be alone. */
  const warmUp = ({ token, building }: Scene) =>
    Promise.all(
      times(24, (index) =>
        send(index % 2 === 0 ? first : second, { token, entityId: building.entityId, action: 'close' }),
      ),
    );

  it('14: of 200 opens at once on a door with an interval, on two nodes, one goes through', async () => {
    const race = async () => {
      const s = await scene({ min_interval_ms: 600_000 });
      await warmUp({ ...s, building: (await scene()).building }).catch(() => undefined);
      const before = commandsOf(s.building.entityId);
      const answers = await Promise.all(
        times(200, (index) =>
          send(index % 2 === 0 ? first : second, { token: s.token, entityId: s.building.entityId }),
        ),
      );
      return { answers, commands: commandsOf(s.building.entityId) - before };
    };
    const { answers, commands } = await race();
    const faulty = await withSql('interval looked at, not reserved', race);
    expect(faulty.commands).toBeGreaterThan(1);
    note({
      test: 14,
      name: 'min_interval_ms race',
      counts: `200 opens, 2 nodes: ${countOf(answers, 200)} × 200, ${countOf(answers, 429)} × 429`,
      violations: Math.abs(commands - 1) + (199 - countOf(answers, 429)),
      mutants: `interval looked at, not reserved: ${faulty.commands} commands`,
    });
    expect([countOf(answers, 200), countOf(answers, 429), commands]).toEqual([1, 199, 1]);
  });

  it('19: of 500 executes with one proof one goes through', async () => {
    const race = async (executes: number) => {
      const s = await scene();
      const asked = await send(first, { token: s.agent, entityId: s.building.entityId, key: 'ask' });
      const proof = String(asked.body.preview_token);
      const answers = await Promise.all(
        times(executes, (index) =>
          send(index % 2 === 0 ? first : second, {
            token: s.agent,
            entityId: s.building.entityId,
            key: `x${index}`,
            proof,
          }),
        ),
      );
      return { answers, commands: commandsOf(s.building.entityId) };
    };
    const { answers, commands } = await race(500);
    const faulty = await withSql('proof looked at, not locked', () => race(8));
    expect(faulty.commands).toBeGreaterThan(1);
    note({
      test: 19,
      name: 'proof spent once',
      counts: `500 executes, 2 nodes: ${countOf(answers, 200)} × 200, ${countOf(answers, 409)} × 409`,
      violations: Math.abs(commands - 1) + (499 - countOf(answers, 409)),
      mutants: `proof looked at, not locked: ${faulty.commands} commands`,
    });
    expect([countOf(answers, 200), countOf(answers, 409), commands]).toEqual([1, 499, 1]);
  });

  it('20: a proof is worth nothing for another org, principal, entity, action or payload, or after ten minutes', async () => {
    const random = createRandom();
    const home = await scene();
    const away = await scene();
    const otherDoor = await first.world.building(home.orgId);
    const everyDoor = [home.building.entityId, otherDoor.entityId];
    await first.db.query('update agents set allowed_entity_ids = $2 where org_id = $1', [
      home.orgId,
      everyDoor,
    ]);
    const twinId = await first.world.agent(home.orgId, home.userId, {
      confirmationMode: 'always',
      allowedEntityIds: everyDoor,
    });
    const twin = (await first.world.key(home.orgId, home.userId, { agentId: twinId })).token;
    const base = { token: home.agent, entityId: home.building.entityId, body: { auto_close: 7 } };
    const changes: ((seconds: number) => Sent)[] = [
      () => ({ ...base, token: away.agent, entityId: away.building.entityId }),
      () => ({ ...base, token: twin }),
      () => ({ ...base, entityId: otherDoor.entityId }),
      () => ({ ...base, action: 'toggle' }),
      (seconds) => ({ ...base, body: { auto_close: seconds } }),
      (seconds) => ({ ...base, body: { auto_close: `${seconds}` } }),
      () => ({ ...base, body: {} }),
    ];
    const proofs = scaled(10, 50);
    const tries = async (count: number): Promise<number> => {
      let accepted = 0;
      for (let made = 0; made < count; made += 1) {
        // A toggle of an open door closes it, which needs no proof.
        await send(first, { token: home.token, entityId: base.entityId, action: 'close' });
        const proof = String((await send(first, { ...base, key: `p${seed}${random()}` })).body.preview_token);
        const answers = await gather(
          times(scaled(10, 20), (index) => index),
          10,
          async () => {
            const change = changes[Math.floor(random() * changes.length)] as (typeof changes)[number];
            const sent = change(8 + Math.floor(random() * 50));
            return [await send(random() < 0.5 ? first : second, { ...sent, key: `m${random()}`, proof })];
          },
        );
        accepted += countOf(answers, 200);
        if (count === proofs)
          expect((await send(second, { ...base, key: `g${random()}`, proof })).status).toBe(200);
      }
      return accepted;
    };
    const taken = await tries(proofs);
    const old = String((await send(first, { ...base, key: 'old' })).body.preview_token);
    await first.db.query(`update confirmations set expires_at = expires_at - interval '10 minutes 1 second'`);
    expect((await send(first, { ...base, key: 'old2', proof: old })).status).toBe(409);
    const accepted = await withSql('proof bound to nothing', () => tries(2));
    expect(accepted).toBeGreaterThan(0);
    note({
      test: 20,
      name: 'proof bound to the request',
      counts: `${proofs * scaled(10, 20)} mutations: ${taken} accepted`,
      violations: taken,
      mutants: `proof bound to nothing: ${accepted} accepted`,
    });
    expect(taken).toBe(0);
  });

  it('21: 500 requests at once with one idempotency key are one command, and every answer is its result or 409', async () => {
    const race = async (nodes: readonly [TestApp, TestApp], requests: number) => {
      const s = await scene({ latency_ms: 30 });
      const { entityId } = s.building;
      const answers = await Promise.all(
        times(requests, (index) =>
          send(nodes[index % 2] as TestApp, { token: s.token, entityId, key: 'storm' }),
        ),
      );
      return { answers, commands: commandsOf(entityId, nodes) };
    };
    const { answers, commands } = await race([first, second], 500);
    const good = answers.filter(({ status }) => status === 200);
    const results = new Set(good.map(({ body: { replayed: _, ...result } }) => JSON.stringify(result)));
    const others = 500 - good.length - countOf(answers, 409);
    const faulty = await withMutant('ignores keys', (node) => race([node, node], 50));
    expect(faulty.commands).toBeGreaterThan(1);
    note({
      test: 21,
      name: 'idempotency storm',
      counts: `500 requests, 2 nodes: ${commands} command, ${good.length} equal results, ${countOf(answers, 409)} × 409`,
      violations: Math.abs(commands - 1) + Math.abs(results.size - 1) + others,
      mutants: `ignores keys: ${faulty.commands} commands`,
    });
    expect({ commands, results: results.size, others }).toEqual({ commands: 1, results: 1, others: 0 });
  });

  it('22: a key is no use for another body, entity or principal', async () => {
    const s = await scene();
    const door = await first.world.building(s.orgId);
    const other = (await first.world.key(s.orgId, s.userId)).token;
    const { entityId } = s.building;
    const reuse = async (node: TestApp, key: string) => {
      const original = await send(node, { token: s.token, entityId, key });
      const conflicts = await Promise.all([
        send(second, { token: s.token, entityId, key, body: { auto_close: 9 } }),
        send(second, { token: s.token, entityId: door.entityId, key }),
        send(second, { token: s.token, entityId, key, action: 'close' }),
      ]);
      const foreign = await send(node, { token: other, entityId, key });
      return {
        conflicts: countOf(conflicts, 409),
        leaks: foreign.body.attempt_id === original.body.attempt_id,
      };
    };
    const good = await reuse(first, 'mine');
    const faulty = await withMutant('shares keys', (node) => reuse(node, 'ours'));
    expect(faulty.leaks).toBe(true);
    note({
      test: 22,
      name: 'idempotency key reused',
      counts: `3 other requests: ${good.conflicts} × 409; 1 other principal: ${Number(good.leaks)} results`,
      violations: 3 - good.conflicts + Number(good.leaks),
      mutants: 'shares keys: the result of another principal',
    });
    expect(good).toEqual({ conflicts: 3, leaks: false });
  });

  it('24: the counters are what the device was told', async () => {
    const count = scaled(1_000, 10_000);
    const race = async (opens: number) => {
      const s = await scene();
      const { entityId } = s.building;
      const answers = await gather(
        times(opens, (index) => index),
        32,
        async (index) => [await send(index % 2 === 0 ? first : second, { token: s.token, entityId })],
      );
      const text = `select coalesce(sum(count), 0)::int as n from usage_counters where org_id = $1 and key = 'door_opens'`;
      const [row] = await first.db.query<{ n: number }>(text, [s.orgId]);
      return { done: countOf(answers, 200), counted: row?.n ?? 0, told: commandsOf(entityId) };
    };
    const good = await race(count);
    const faulty = await withSql('counters set, not added', () => race(200));
    expect(faulty.counted).not.toBe(faulty.told);
    note({
      test: 24,
      name: 'quota counters',
      counts: `${count} opens, 2 nodes: ${good.counted} counted, ${good.told} commands`,
      violations: Math.abs(count - good.counted) + Math.abs(count - good.told) + (count - good.done),
      mutants: `counters set, not added: ${faulty.counted} counted, ${faulty.told} commands`,
    });
    expect(good).toEqual({ done: count, counted: count, told: count });
  }, 300_000);
});

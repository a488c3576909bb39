// Test 23 of design/reliability.md: after a revocation was answered, no request that begins gets a command through.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { rootAdminId } from '../support/test-world.ts';
import { withSqlMutant } from './mutants/sql-mutants.ts';
import { createRandom, note, scaled, seed } from './scale.ts';

const rounds = scaled(20, 200);
const clients = scaled(16, 50);

interface Round {
  readonly opened: number;
  readonly commands: number;
  /** Opened although the request began after the answer to the revocation. */
  readonly late: number;
}

describe(`revocation under load, seed ${seed}`, () => {
  const random = createRandom();
  let nodes: [TestApp, TestApp];
  let admin: string;
  let orgId: string;

  beforeAll(async () => {
    const first = await startTestApp();
    nodes = [first, await first.secondNode()];
    orgId = await first.world.org();
    await first.world.grant(orgId, rootAdminId, 'admin');
    admin = (await first.world.key(orgId, rootAdminId)).token;
  });
  afterAll(async () => {
    await nodes[1].close();
    await nodes[0].close();
  });

  const nodeOf = (index: number): TestApp => nodes[index % 2] as TestApp;
  const commandsOf = (entityId: string): number =>
    nodes
      .map(({ dataDir }) => join(dataDir, 'virtual-demo', 'commands.jsonl'))
      .flatMap((file) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []))
      .filter((line) => line.includes(entityId)).length;

  /** A key or an agent is revoked by the API of one node while callers use it on both. */
  async function round(index: number): Promise<Round> {
    const { world } = nodes[0];
    const { entityId } = await world.building(orgId);
    const agentId =
      index % 2 === 0 ? null : await world.agent(orgId, rootAdminId, { allowedEntityIds: [entityId] });
    const key = await world.key(orgId, rootAdminId, { agentId });
    const revoke = agentId === null ? `api-keys/${key.id}` : `agents/${agentId}`;
    let revoked = false;
    let [opened, late] = [0, 0];
    const client = async (caller: number): Promise<void> => {
      for (let after = 0, turn = 0; after < 2; turn += 1) {
        const beganAfter = revoked;
        const headers = { 'idempotency-key': `${entityId}-${caller}-${turn}` };
        const path = `/entities/${entityId}/actions/open`;
        const answer = await nodeOf(caller + turn).request('POST', path, {
          token: key.token,
          body: {},
          headers,
        });
        opened += answer.status === 200 ? 1 : 0;
        late += beganAfter && answer.status === 200 ? 1 : 0;
        after += beganAfter ? 1 : 0;
      }
    };
    const running = Array.from({ length: clients }, (_, caller) => client(caller));
    await new Promise((resolve) => setTimeout(resolve, random() * 40));
    const answer = await nodeOf(index).request('DELETE', `/${revoke}`, { token: admin });
    expect(answer.status, answer.text).toBeLessThan(300);
    revoked = true;
    await Promise.all(running);
    return { opened, late, commands: commandsOf(entityId) };
  }

  it(
    '23: nothing is opened by a request that begins after it, on either node',
    async () => {
      let [opened, late, untold] = [0, 0, 0];
      for (let index = 0; index < rounds; index += 1) {
        const result = await round(index);
        opened += result.opened;
        late += result.late;
        untold += Math.abs(result.commands - result.opened);
      }
      const faulty = await withSqlMutant(nodes[0].db, 'epoch not compared', () => round(0));
      expect(faulty.late).toBeGreaterThan(0);
      note({
        test: 23,
        name: 'revocation race',
        counts: `${rounds} rounds, ${clients} callers, 2 nodes: ${opened - late} opens before, ${late} after`,
        violations: late + untold,
        mutants: `epoch not compared: ${faulty.late} opens after`,
      });
      expect({ late, untold }).toEqual({ late: 0, untold: 0 });
    },
    60_000 + rounds * 10_000,
  );
});

// Test 11 of design/reliability.md with its real times: leases of 15 s, an owner that stands still for 30 s. The same with
// short ones is in test/cluster-faults.test.ts, so that `npm test` need not wait for it.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { createNodes, type NodeProcess, type Nodes } from '../support/cluster-nodes.ts';
import { type LedgerLine, staleCommands } from '../support/ledger-provider.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { createWorld, rootAdminId } from '../support/test-world.ts';
import { isFull, note } from './scale.ts';

const leaseMs = 15_000;
const buffered = 200;

describe('split brain', () => {
  it('would be noticed: a command of a node after another one has connected', () => {
    const line = (node: string, event: LedgerLine['event']): LedgerLine => ({
      node,
      integration: 'i',
      event,
    });
    const good = [line('a', 'connect'), line('a', 'command'), line('b', 'connect'), line('b', 'command')];
    expect(staleCommands(good)).toEqual([]);
    expect(staleCommands([...good, line('a', 'command')])).toEqual([line('a', 'command')]);
  });

  if (isFull) {
    let db: TestDatabase;
    let nodes: Nodes;
    let token: string;
    let doors: string[];

    beforeAll(async () => {
      db = await createTestDatabase(inject('ownerUrl'));
      const world = createWorld(db);
      const orgId = await world.org();
      await world.grant(orgId, rootAdminId, 'admin');
      ({ token } = await world.key(orgId, rootAdminId));
      doors = await Promise.all(
        Array.from({ length: 12 }, async () => (await world.building(orgId)).entityId),
      );
      nodes = createNodes(db.url, leaseMs);
    });
    afterAll(async () => {
      await nodes.close();
      await db.drop();
    });

    it('11: an owner that stands still for 30 s sends nothing when it goes on', async () => {
      const all = [await nodes.start('one'), await nodes.start('two')];
      const door = doors[0] ?? '';
      const holders = () => db.query('select distinct node_id from connection_leases');
      await vi.waitFor(async () => expect(await holders()).toHaveLength(2), {
        timeout: 90_000,
        interval: 200,
      });
      expect((await (all[0] as NodeProcess).open(token, door)).status).toBe(200);
      const ownerName = nodes.ledger().findLast(({ event }) => event === 'command')?.node;
      const owner = all.find(({ name }) => name === ownerName) as NodeProcess;
      const other = all.find(({ name }) => name !== ownerName) as NodeProcess;
      owner.signal('SIGSTOP');
      const waiting = Array.from({ length: buffered }, () => owner.open(token, door));
      await delay(30_000);
      await vi.waitFor(async () => expect((await other.open(token, door)).status).toBe(200), {
        timeout: 60_000,
        interval: 500,
      });
      owner.signal('SIGCONT');
      const answers = (await Promise.all(waiting)).map(({ status }) => status);
      const commands = nodes.ledger().filter(({ event }) => event === 'command');
      const stale = staleCommands(nodes.ledger());
      const doubled = commands.length - new Set(commands.map(({ intent }) => intent)).size;
      note({
        test: 11,
        name: 'split brain, SIGSTOP 30 s',
        counts: `${buffered} opens at the owner: ${answers.filter((status) => status === 200).length} × 200, ${stale.length} under the old lease`,
        violations: stale.length + doubled,
        mutants: 'no lease check: see the other 11',
      });
      expect({ stale, doubled }).toEqual({ stale: [], doubled: 0 });
    }, 300_000);
  }
});

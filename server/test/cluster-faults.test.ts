// Tests 11 and the rolling restart of design/reliability.md: nodes as processes of their own, with leases of two seconds.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { createNodes, type NodeProcess, type Nodes } from './support/cluster-nodes.ts';
import { staleCommands } from './support/ledger-provider.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';
import { createWorld, rootAdminId } from './support/test-world.ts';

const leaseMs = 2_000;

describe('nodes that break', () => {
  let db: TestDatabase;
  let nodes: Nodes;
  let token: string;
  let doors: string[];

  beforeEach(async () => {
    db = await createTestDatabase(inject('ownerUrl'));
    const world = createWorld(db);
    const orgId = await world.org();
    await world.grant(orgId, rootAdminId, 'admin');
    ({ token } = await world.key(orgId, rootAdminId));
    doors = [];
    for (let index = 0; index < 12; index += 1) doors.push((await world.building(orgId)).entityId);
    nodes = createNodes(db.url, leaseMs);
  });
  afterEach(async () => {
    await nodes.close();
    await db.drop();
  });

  const door = (index = 0): string => doors[index % doors.length] ?? '';
  const commands = () => nodes.ledger().filter(({ event }) => event === 'command');
  const holders = async () =>
    (await db.query<{ node_id: string | null }>('select node_id from connection_leases')).map(
      (row) => row.node_id,
    );
  /** Both nodes hold some. */
  const balanced = () =>
    vi.waitFor(async () => expect(new Set(await holders()).size).toBe(2), { timeout: 20_000, interval: 100 });

  it('leave their connections to others when they die, as soon as the leases are over', async () => {
    const one = await nodes.start('one');
    const two = await nodes.start('two');
    await balanced();
    for (const id of doors) expect((await two.open(token, id)).status).toBe(200);
    one.signal('SIGKILL');
    await one.ended();
    await vi.waitFor(
      async () => {
        for (const id of doors) expect((await two.open(token, id)).status).toBe(200);
      },
      { timeout: 20_000, interval: 200 },
    );
    expect(new Set(await holders()).size).toBe(1);
    expect(staleCommands(nodes.ledger())).toEqual([]);
  }, 90_000);

  /** The owner of the first door stands still for three leases, with requests in its buffers, and goes on. */
  async function pauseOwner(mutant: 'no lease check' | null): Promise<{ answers: number[] }> {
    const all = [await nodes.start('one', { mutant }), await nodes.start('two', { mutant })];
    await balanced();
    expect((await (all[0] as NodeProcess).open(token, door())).status).toBe(200);
    const ownerName = commands().at(-1)?.node;
    const [owner, other] = all.toSorted((node) => (node.name === ownerName ? -1 : 1)) as [
      NodeProcess,
      NodeProcess,
    ];
    owner.signal('SIGSTOP');
    const buffered = Array.from({ length: 20 }, () => owner.open(token, door()));
    await vi.waitFor(async () => expect((await other.open(token, door())).status).toBe(200), {
      timeout: 20_000,
      interval: 200,
    });
    await delay(leaseMs);
    owner.signal('SIGCONT');
    const answers = (await Promise.all(buffered)).map(({ status }) => status);
    return { answers };
  }

  it('send nothing under a lease that is over: an owner that stood still for three leases', async () => {
    const { answers } = await pauseOwner(null);
    expect(staleCommands(nodes.ledger())).toEqual([]);
    // What it had in its buffers it took to the new owner.
    expect(answers.filter((status) => status === 200)).toHaveLength(answers.length);
  }, 90_000);

  it('would be caught if they did not look at their lease', async () => {
    await pauseOwner('no lease check');
    expect(staleCommands(nodes.ledger()).length).toBeGreaterThan(0);
  }, 90_000);

  it('are restarted one after the other without a failed open', async () => {
    const running = new Map<string, NodeProcess>();
    const names = ['one', 'two', 'three'];
    for (const node of await Promise.all(names.map((name) => nodes.start(name))))
      running.set(node.name, node);
    await delay(leaseMs);
    const load = startLoad(running);
    for (const name of names) {
      const node = running.get(name) as NodeProcess;
      node.signal('SIGTERM');
      await node.ended();
      running.set(name, await nodes.start(name, { port: node.port }));
      await delay(1_000);
    }
    const { answers, sent } = await load.stop();
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(sent).toBeGreaterThan(100);
    expect(staleCommands(nodes.ledger())).toEqual([]);
    const intents = commands().map(({ intent }) => intent);
    expect(new Set(intents).size).toBe(intents.length);
    expect(intents).toHaveLength(sent);
  }, 300_000);

  /** As a load balancer: a node that takes no request, or says that it is going, is passed over. */
  function startLoad(running: ReadonlyMap<string, NodeProcess>) {
    const answers: { status: number; text: string }[] = [];
    let on = true;
    const isPassedOn = ({ status, text }: { status: number; text: string }) =>
      status === 0 || (status === 503 && /closing|FST_ERR/i.test(text));
    const worker = async (index: number): Promise<void> => {
      for (let turn = index; on; turn += 1) {
        const names = [...running.keys()];
        let answer = { status: 0, text: 'no node' };
        for (let tried = 0; tried < names.length && isPassedOn(answer); tried += 1) {
          const node = running.get(names[(turn + tried) % names.length] ?? '');
          if (node !== undefined) answer = await node.open(token, door(turn));
        }
        answers.push(answer);
        await delay(20);
      }
    };
    const workers = Array.from({ length: 4 }, (_, index) => worker(index));
    return {
      stop: async () => {
        on = false;
        await Promise.all(workers);
        return { answers, sent: answers.filter(({ status }) => status === 200).length };
      },
    };
  }
});

// Test 11 of design/reliability.md: nodes as processes of their own, with leases of two seconds.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { scaled } from './faults/scale.ts';
import { createSharedRow } from './faults/shared-row.ts';
import type { NodeProcess } from './support/cluster-nodes.ts';
import { type ClusterScene, createClusterScene } from './support/cluster-scene.ts';
import { staleCommands } from './support/ledger-provider.ts';

const leaseMs = 2_000;

describe('nodes that break', () => {
  const row = createSharedRow(11, 'split brain');
  let [pauses, opens] = [0, 0];
  afterAll(() => row.write(`owner stopped for 3 leases ${pauses} times, with ${opens} opens in its buffers`));
  let scene: ClusterScene;

  beforeEach(async () => {
    scene = await createClusterScene(leaseMs);
  });
  afterEach(() => scene.close());

  it('leave their connections to others when they die, as soon as the leases are over', async () => {
    const one = await scene.nodes.start('one');
    const two = await scene.nodes.start('two');
    await scene.shared(2);
    for (const id of scene.doors) expect((await two.open(scene.token, id)).status).toBe(200);
    one.signal('SIGKILL');
    await one.ended();
    await vi.waitFor(
      async () => {
        for (const id of scene.doors) expect((await two.open(scene.token, id)).status).toBe(200);
      },
      { timeout: 20_000, interval: 200 },
    );
    expect((await scene.holders()).size).toBe(1);
    expect(staleCommands(scene.nodes.ledger())).toEqual([]);
  });

  const startTwo = async (mutant: 'no lease check' | null = null): Promise<NodeProcess[]> => [
    await scene.nodes.start('one', { mutant }),
    await scene.nodes.start('two', { mutant }),
  ];

  /** The owner of the first door stands still for three leases, with requests in its buffers, and goes on. */
  async function pauseOwner(all: readonly NodeProcess[]): Promise<{ answers: number[] }> {
    await scene.shared(2);
    expect((await (all[0] as NodeProcess).open(scene.token, scene.door())).status).toBe(200);
    const ownerName = scene.commands().at(-1)?.node;
    const [owner, other] = all.toSorted((node) => (node.name === ownerName ? -1 : 1)) as [
      NodeProcess,
      NodeProcess,
    ];
    owner.signal('SIGSTOP');
    const buffered = Array.from({ length: 20 }, () => owner.open(scene.token, scene.door()));
    await vi.waitFor(async () => expect((await other.open(scene.token, scene.door())).status).toBe(200), {
      timeout: 20_000,
      interval: 200,
    });
    await delay(leaseMs);
    owner.signal('SIGCONT');
    const answers = (await Promise.all(buffered)).map(({ status }) => status);
    return { answers };
  }

  it('send nothing under a lease that is over: an owner that stood still for three leases', async () => {
    const all = await startTwo();
    for (; pauses < scaled(2, 20); pauses += 1) {
      const { answers } = await pauseOwner(all);
      opens += answers.length;
      // What it had in its buffers it took to the new owner.
      expect(answers.filter((status) => status === 200)).toHaveLength(answers.length);
    }
    const intents = scene.commands().map(({ intent }) => intent);
    const doubled = intents.filter((intent, index) => intents.indexOf(intent) !== index);
    expect(row.found([...staleCommands(scene.nodes.ledger()), ...doubled])).toEqual([]);
  }, 600_000);

  it('would be caught if they did not look at their lease', async () => {
    await pauseOwner(await startTwo('no lease check'));
    expect(row.mutant('no lease check', staleCommands(scene.nodes.ledger()))).not.toEqual([]);
  });
});

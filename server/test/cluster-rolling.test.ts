// The rolling restart of issue 4: nodes as processes of their own behind a balancer that asks /readyz once a second.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BalancedAnswer, type Balancer, createBalancer } from './support/balancer.ts';
import type { NodeMutant, NodeProcess } from './support/cluster-nodes.ts';
import { type ClusterScene, createClusterScene } from './support/cluster-scene.ts';
import { eventually } from './support/eventually.ts';
import { staleCommands } from './support/ledger-provider.ts';

const names = ['one', 'two', 'three'];

describe('nodes that are restarted one after the other', () => {
  let scene: ClusterScene;
  let balancer: Balancer;

  beforeEach(async () => {
    scene = await createClusterScene(2_000);
    balancer = createBalancer();
  });
  afterEach(async () => {
    await balancer.close();
    await scene.close();
  });

  async function startAll(mutant: NodeMutant | null): Promise<NodeProcess[]> {
    const all = await Promise.all(names.map((name) => scene.nodes.start(name, { mutant })));
    for (const node of all) balancer.add(node);
    await eventually(() => all.every(balancer.isUsed), 30_000);
    await scene.shared(3);
    return all;
  }

  /** The worst moment to stop: the balancer has just heard that the node is ready. */
  async function stop(node: NodeProcess): Promise<void> {
    await balancer.justAsked(node);
    node.signal('SIGTERM');
    await node.ended();
  }

  /** Opens without a pause, each sent once to one node that the balancer calls ready. */
  function startLoad() {
    const answers: BalancedAnswer[] = [];
    let on = true;
    const worker = async (index: number): Promise<void> => {
      for (let turn = index; on; turn += 1) {
        answers.push(await balancer.pass((node) => node.open(scene.token, scene.door(turn))));
        await delay(20);
      }
    };
    const workers = Array.from({ length: 4 }, (_, index) => worker(index));
    return async () => {
      on = false;
      await Promise.all(workers);
      return answers;
    };
  }

  it('fail no open, and each open is one command', async () => {
    const all = await startAll(null);
    const stopLoad = startLoad();
    for (const node of all) {
      await stop(node);
      const next = await scene.nodes.start(node.name, { port: node.port });
      balancer.add(next);
      await eventually(() => balancer.isUsed(next), 30_000);
    }
    const answers = await stopLoad();
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(answers.length).toBeGreaterThan(100);
    expect(staleCommands(scene.nodes.ledger())).toEqual([]);
    const intents = scene.commands().map(({ intent }) => intent);
    expect(new Set(intents).size).toBe(intents.length);
    expect(intents).toHaveLength(answers.length);
  }, 300_000);

  it('would be caught if they did not go on serving until the balancer knows', async () => {
    const [node] = await startAll('no grace');
    const stopLoad = startLoad();
    await stop(node as NodeProcess);
    await delay(1_000);
    const answers = await stopLoad();
    expect(answers.filter(({ status }) => status !== 200).length).toBeGreaterThan(0);
  });
});

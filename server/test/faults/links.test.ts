// Tests 3 and 4 of design/reliability.md, and no command after its deadline: a Tasmota behind a wire that breaks.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/peers/free-port.ts';
import { gather } from '../support/scenario-parallel.ts';
import type { TestApp } from '../support/test-app.ts';
import { createScene, type Scene, startAlone, withNode } from './bench-app.ts';
import { type Cut, type Fate, startCut } from './cut.ts';
import { type Door, startDoor } from './door.ts';
import { type EngineMutantName, engineMutants } from './mutants/engine-mutants.ts';
import { createRandom, note, scaled, seed } from './scale.ts';

describe(`a wire to a device, seed ${seed}`, () => {
  const random = createRandom();
  let node: TestApp;
  let door: Door;
  let cut: Cut;
  let request: (bytes: number) => Fate = () => 'pass';
  let reply: () => Fate = () => 'pass';

  beforeAll(async () => {
    node = await startAlone({});
    door = await startDoor();
    cut = await startCut({
      target: () => door.port,
      onRequest: (_chunk, bytes) => request(bytes),
      onReply: () => reply(),
    });
  });
  afterEach(async () => {
    request = () => 'pass';
    reply = () => 'pass';
    cut.mode('pass');
    await door.hold(0);
  });
  afterAll(async () => {
    await cut.close();
    await door.stop();
    await node.close();
  });

  const sceneOf = (own: TestApp, count: number): Promise<Scene> =>
    createScene(own, door, (orgId) => door.addHttpDoors(own.db, orgId, count, cut.port));
  const withMutant = <T>(name: EngineMutantName, work: (mutant: TestApp) => Promise<T>): Promise<T> =>
    withNode(startAlone, { wrapEngine: engineMutants[name] }, work);

  /** Each open five times with one key, while answers get lost. */
  async function loseReplies(own: TestApp, count: number): Promise<Scene> {
    reply = () => 'pass';
    const scene = await sceneOf(own, count);
    expect((await scene.open(scene.doors[0] ?? '', 'warm')).status).toBe(200);
    const before = scene.commands();
    reply = () => 'cut';
    await gather(
      Array.from({ length: count }, (_, index) => index),
      20,
      async () => {
        const asked = scene.callers.ask();
        const { entityId, key } = scene.callers.wishes.at(-1) ?? { entityId: '', key: '' };
        expect((await asked).body.code).toBe('outcome_unknown');
        for (let retry = 0; retry < 4; retry += 1)
          expect((await scene.open(entityId, key)).body.code).toBe('outcome_unknown');
        return [];
      },
    );
    expect(scene.commands()).toBeGreaterThanOrEqual(before + count);
    return scene;
  }

  it(
    '3: that loses the reply: one command for a key, and the outcome is unknown',
    async () => {
      const count = scaled(20, 200);
      const scene = await loseReplies(node, count);
      const broken = await scene.violations();
      const found = await withMutant('resends when unknown', async (mutant) => {
        const faulty = await loseReplies(mutant, 3);
        return await faulty.violations();
      });
      expect(found.join()).toMatch(/\(i\)/);
      note({
        test: 3,
        name: 'reply lost after the effect',
        counts: `${count} keys × 5 requests: ${count} commands, all unknown`,
        violations: broken.length,
        mutants: `resends when unknown: ${found.length} violations`,
      });
      expect(broken).toEqual([]);
    },
    scaled(120_000, 300_000),
  );

  it(
    '4: that reaches nobody: no command, and the failure is told within 5 s',
    async () => {
      const count = scaled(30, 300);
      const scene = await sceneOf(node, count);
      expect((await scene.open(scene.doors[0] ?? '', 'warm')).status).toBe(200);
      const before = scene.commands();
      cut.mode('refuse');
      let slowestMs = 0;
      const codes = new Set<string>();
      for (let asked = 0; asked < count; asked += 1) {
        const since = performance.now();
        const answer = await scene.callers.ask();
        slowestMs = Math.max(slowestMs, performance.now() - since);
        codes.add(`${answer.status} ${answer.body.code}`);
      }
      cut.mode('pass');
      // A request that ends in the middle of its head is no command either, but bytes have left: unknown.
      request = (bytes) => (bytes > 0 ? 'cut' : 'pass');
      for (let asked = 0; asked < 5; asked += 1)
        expect((await scene.callers.ask()).body.code).toBe('outcome_unknown');
      const sent = scene.commands() - before;
      const broken = await scene.violations();
      expect([...codes].every((code) => /^(502 device_unreachable|409 outcome_unknown)$/.test(code))).toBe(
        true,
      );
      expect(slowestMs).toBeLessThan(scaled(15_000, 5_000));
      const late = await withMutant('sends later', async (mutant) => {
        const port = await freePort();
        const dead = await startCut({ target: () => door.port, port });
        const faulty = await createScene(mutant, door, (orgId) =>
          door.addHttpDoors(mutant.db, orgId, 1, port),
        );
        await dead.close();
        expect((await faulty.callers.ask()).status).toBe(502);
        const back = await startCut({ target: () => door.port, port });
        await expect.poll(() => faulty.commands(), { timeout: 15_000 }).toBeGreaterThan(0);
        await back.close();
        return await faulty.violations();
      });
      expect(late.join()).toMatch(/\(ii\)/);
      note({
        test: 4,
        name: 'device never reached',
        counts: `${count} opens: ${sent} commands, ${[...codes].join(' or ')}, slowest ${Math.round(slowestMs)} ms`,
        violations: broken.length + sent,
        mutants: `sends later: ${late[0]?.slice(0, 40)}`,
      });
      expect({ broken, sent }).toEqual({ broken: [], sent: 0 });
    },
    scaled(120_000, 300_000),
  );

  /**
   * Six opens of one door that takes 2.6 s for each: what has waited past its deadline must not go out any more. The
   * second leaves long before its deadline, and has no answer by then: none leaves so late that a pause makes it late.
   */
  async function queueUp(own: TestApp): Promise<{ violations: string[]; sent: number }> {
    const scene = await sceneOf(own, 1);
    await door.hold(2_600);
    const start = random();
    await Promise.all(
      Array.from({ length: 6 }, (_, index) => scene.open(scene.doors[0] ?? '', `q${start}${index}`)),
    );
    return { violations: await scene.violations(), sent: scene.commands() };
  }

  it(
    'that is busy: no command leaves after its deadline',
    async () => {
      const good = await queueUp(node);
      const faulty = await withMutant('ignores deadlines', queueUp);
      expect(faulty.violations.join()).toMatch(/\(v\)/);
      note({
        test: 3,
        name: 'no command after its deadline',
        counts: `6 opens of a device that takes 2.6 s each: ${good.sent} commands`,
        violations: good.violations.length,
        mutants: `ignores deadlines: ${faulty.violations.length} late`,
      });
      expect(good.violations).toEqual([]);
    },
    scaled(120_000, 300_000),
  );
});

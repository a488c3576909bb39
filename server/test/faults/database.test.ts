// Tests 6 and 7 of design/reliability.md: a database behind a wire that breaks.
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startTestApp, type TestApp, type TestAppOptions } from '../support/test-app.ts';
import { createScene, type Scene, withNode } from './bench-app.ts';
import { type Cut, type Fate, startCut } from './cut.ts';
import { type Door, startDoor } from './door.ts';
import { type EngineMutantName, engineMutants } from './mutants/engine-mutants.ts';
import { createRandom, note, scaled, seed } from './scale.ts';

/** What is in every call of T1, and of T2: the calls themselves go by the name of a prepared statement. */
const [ofT1, ofT2] = ['"min_interval_ms"', '"release_key"'];

describe(`a wire to the database, seed ${seed}`, () => {
  const random = createRandom();
  let node: TestApp;
  let door: Door;
  let cut: Cut;
  let fate: (text: string) => Fate = () => 'pass';

  beforeAll(async () => {
    const port = Number(new URL(inject('ownerUrl')).port);
    cut = await startCut({ target: () => port, onRequest: (chunk) => fate(chunk.toString('latin1')) });
    node = await behindTheWire({});
    door = await startDoor();
  });
  afterEach(() => {
    fate = () => 'pass';
    cut.mode('pass');
  });
  afterAll(async () => {
    await node.close();
    await door.stop();
    await cut.close();
  });

  function behindTheWire(options: TestAppOptions): Promise<TestApp> {
    const databaseUrl = (url: string): string => url.replace(/:\d+\//, `:${cut.port}/`);
    return startTestApp({ ...options, databaseUrl });
  }
  const sceneOf = (own: TestApp, count: number): Promise<Scene> =>
    createScene(own, door, (orgId) => door.addHttpDoors(own.db, orgId, count));
  const withMutant = <T>(name: EngineMutantName, work: (mutant: TestApp) => Promise<T>): Promise<T> =>
    withNode(behindTheWire, { wrapEngine: engineMutants[name] }, work);

  async function whileNothingComesThrough(own: TestApp) {
    const scene = await sceneOf(own, 16);
    expect((await scene.open(scene.doors[0] ?? '', 'warm')).status).toBe(200);
    const before = scene.commands();
    cut.mode('black hole');
    let slowestMs = 0;
    const statuses = new Set<number>();
    await Promise.all(
      scene.doors.map(async (entityId) => {
        const since = performance.now();
        statuses.add((await scene.open(entityId, `dark-${entityId}`)).status);
        slowestMs = Math.max(slowestMs, performance.now() - since);
      }),
    );
    cut.mode('pass');
    cut.drop();
    return { statuses: [...statuses], slowestMs, commands: scene.commands() - before };
  }

  it('6: that lets nothing through: 503 within two seconds, and no command', async () => {
    const { statuses, slowestMs, commands } = await whileNothingComesThrough(node);
    expect({ statuses, commands }).toEqual({ statuses: [503], commands: 0 });
    const faulty = await withMutant('opens without database', whileNothingComesThrough);
    expect(faulty.commands).toBeGreaterThan(0);
    note({
      test: 6,
      name: 'database unreachable',
      counts: `16 opens: 16 × 503, slowest ${Math.round(slowestMs)} ms, ${commands} commands`,
      violations: commands,
      mutants: `opens without database: ${faulty.commands} commands`,
    });
    expect(slowestMs).toBeLessThan(scaled(10_000, 2_000));
  });

  /** Every call of a kind is cut with some chance, and some of those arrive. Nobody learns which. */
  async function loseAcknowledgements(
    own: TestApp,
    wanted: number,
    kinds = [ofT1, ofT2],
    arriving = 0.5,
  ): Promise<Scene> {
    const scene = await sceneOf(own, scaled(96, 512));
    let lost = 0;
    fate = (text) => {
      if (!kinds.some((kind) => text.includes(kind)) || lost >= wanted || random() > 0.4) return 'pass';
      lost += 1;
      return random() < arriving ? 'pass, then cut' : 'cut';
    };
    const stop = scene.callers.keepAsking(scaled(24, 32));
    await eventually(() => lost >= wanted, 600_000, 20);
    await stop();
    await eventually(() => scene.isSettled(), 60_000, 100);
    return scene;
  }

  it('7: that is cut while T1 or T2 commits: nothing doubled, no outcome lost', async () => {
    const wanted = scaled(20, 1_000);
    const scene = await loseAcknowledgements(node, wanted);
    const violations = await scene.violations();
    expect(violations).toEqual([]);
    // A mutant shows only by calls that do not arrive.
    const withoutT1 = await withMutant('assumes T1', async (mutant) =>
      (await loseAcknowledgements(mutant, 8, [ofT1], 0)).violations(),
    );
    expect(withoutT1.join()).toMatch(/\(ii\) a command without an intent/);
    const withoutT2 = await withMutant('assumes T2', async (mutant) =>
      (await loseAcknowledgements(mutant, 8, [ofT2], 0)).violations(),
    );
    expect(withoutT2.join()).toMatch(/\(iv\)/);
    note({
      test: 7,
      name: 'commit acknowledgement lost',
      counts: `${wanted} cut, ${scene.callers.wishes.length} opens`,
      violations: violations.length,
      mutants: `assumes T1: ${withoutT1.length} violations; assumes T2: ${withoutT2.length} violations`,
    });
  }, 900_000);
});

// Tests 5 and 16 of design/reliability.md: a PostgreSQL of its own that crashes under load, and one whose disk is full.
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded-postgres.ts';
import { findPostmaster, hasEnded } from '../../src/db/embedded-postmaster.ts';
import { migrate } from '../../src/db/migrate.ts';
import { eventually } from '../support/eventually.ts';
import { startTestAppOn, type TestApp, type TestAppOptions } from '../support/test-app.ts';
import { makeTestDir } from '../support/test-cluster.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { seedInstallation } from '../support/test-world.ts';
import { createScene, type Scene, withNode } from './bench-app.ts';
import { type Cut, startCut } from './cut.ts';
import { type Door, startDoor } from './door.ts';
import { engineMutants } from './mutants/engine-mutants.ts';
import { note, scaled } from './scale.ts';

const crashes = scaled(2, 18);
const everyMs = scaled(2_000, 10_000);
const opensPerSecond = scaled(20, 50);

describe('a database of its own', () => {
  let dir: string;
  let postgres: EmbeddedPostgres;
  let wire: Cut;
  let door: Door;
  let small: string | null = null;

  const clusterDir = (): string => join(dir, 'postgres');
  const start = async (): Promise<void> => {
    postgres = await startEmbeddedPostgres({
      dataDir: dir,
      log: () => undefined,
      settings: { max_connections: '60' },
    });
  };
  /** As `pg_ctl stop -m immediate`: no checkpoint, the next start recovers from the log. */
  async function crash(): Promise<void> {
    const { pid } = findPostmaster(clusterDir()) ?? { pid: 0 };
    process.kill(pid, 'SIGQUIT');
    expect(await hasEnded(pid, clusterDir(), 20_000)).toBe(true);
    await postgres.stop();
  }

  beforeAll(async () => {
    dir = makeTestDir();
    await start();
    await migrate(postgres.ownerUrl);
    await seedInstallation(postgres.ownerUrl);
    wire = await startCut({ target: () => findPostmaster(clusterDir())?.port ?? 1 });
    door = await startDoor();
  });
  afterAll(async () => {
    await door.stop();
    await wire.close();
    await postgres.stop();
    if (small !== null) execFileSync('umount', [small]);
    rmSync(dir, { recursive: true, force: true });
  });

  function startHere(options: TestAppOptions): Promise<TestApp> {
    return startTestAppOn(openTestDatabase(postgres.ownerUrl.replace(/:\d+\//, `:${wire.port}/`)), options);
  }

  /** Opens at an even rate, whatever happens to the database. */
  async function openThroughCrashes(
    own: TestApp,
    times: number,
    doorCount = scaled(256, 768),
  ): Promise<{ scene: Scene; slowestBackMs: number }> {
    const scene = await createScene(own, door, (orgId) => door.addHttpDoors(own.db, orgId, doorCount));
    // Known doors are decided without the database: then T1 is what fails.
    for (let known = 0; known < Math.min(doorCount, 48); known += 1) await scene.callers.ask();
    let [on, slowestBackMs] = [true, 0];
    const load = (async () => {
      while (on) {
        // More would be a storm of retries: what is under test is the database.
        if (scene.callers.waiting() < 40) void scene.callers.ask();
        await delay(1000 / opensPerSecond);
      }
    })();
    for (let count = 0; count < times; count += 1) {
      await delay(everyMs);
      await crash();
      await start();
      const since = performance.now();
      const probe = (): Promise<{ status: number }> =>
        own.request('GET', `/entities/${scene.doors[0]}`, { token: scene.token });
      await eventually(async () => (await probe()).status === 200, 30_000, 20);
      slowestBackMs = Math.max(slowestBackMs, performance.now() - since);
    }
    on = false;
    await load;
    await scene.callers.settled();
    await eventually(() => scene.isSettled(), 60_000, 100);
    return { scene, slowestBackMs };
  }

  it('5: that crashes under load: nothing doubled, lost or invented, and it serves again within 5 s', async () => {
    const { opens, slowestBackMs, broken } = await withNode(startHere, {}, async (node) => {
      const { scene, slowestBackMs } = await openThroughCrashes(node, crashes);
      return { opens: scene.callers.wishes.length, slowestBackMs, broken: await scene.violations() };
    });
    const found = await withNode(startHere, { wrapEngine: engineMutants['assumes T1'] }, async (mutant) => {
      const { scene: faulty } = await openThroughCrashes(mutant, 1, 48);
      return await faulty.violations();
    });
    expect(found.join()).toMatch(/\(ii?\)/);
    note({
      test: 5,
      name: 'database crash under load',
      counts: `${crashes} crashes, ${opens} opens at ${opensPerSecond}/s, back after ${Math.round(slowestBackMs)} ms`,
      violations: broken.length,
      mutants: `assumes T1: ${found.length} violations`,
    });
    expect(broken).toEqual([]);
    expect(slowestBackMs).toBeLessThan(scaled(15_000, 5_000));
  }, 900_000);

  /** A tablespace of 16 MB; null where nothing can be mounted. */
  function mountSmallDisk(): string | null {
    const disk = join(dir, 'small');
    const { uid, gid } = statSync(clusterDir());
    mkdirSync(disk);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk], { stdio: 'ignore' });
    } catch {
      return null;
    }
    mkdirSync(join(disk, 'space'));
    chownSync(join(disk, 'space'), uid, gid);
    chmodSync(join(disk, 'space'), 0o700);
    return disk;
  }

  it('16: whose disk is full: 503 and no command, and it recovers', async () => {
    small = mountSmallDisk();
    const row = { test: 16, name: 'disk full' };
    const disk = small;
    if (disk === null) {
      const counts = 'not run: mounting a small disk needs root';
      return note({ ...row, counts, violations: 0, mutants: '' });
    }
    const owner = new pg.Client({ connectionString: postgres.ownerUrl });
    await owner.connect();
    try {
      await owner.query(`create tablespace small location '${join(disk, 'space')}'`);
      // What the crashes before have left would not fit.
      await owner.query('truncate intents cascade');
      await owner.query('alter table intents set tablespace small');
      const fillUp = async (own: TestApp) => {
        const scene = await createScene(own, door, (orgId) => door.addHttpDoors(own.db, orgId, 64));
        writeFileSync(join(disk, 'filler'), '');
        execFileSync('sh', ['-c', `cat /dev/zero > ${join(disk, 'filler')} 2>/dev/null || true`]);
        const answers: number[] = [];
        for (let count = 0; count < 60 && answers.filter((status) => status === 503).length < 10; count += 1)
          answers.push((await scene.open(scene.doors[count % 64] ?? '', `full${count}`)).status);
        rmSync(join(disk, 'filler'));
        const recovered = (await scene.open(scene.doors[0] ?? '', 'after')).status;
        const opened = answers.filter((status) => status === 200).length;
        return {
          refused: answers.filter((status) => status === 503).length,
          opened,
          recovered,
          commands: scene.commands(),
        };
      };
      const good = await withNode(startHere, {}, fillUp);
      // One of them is the open after it.
      const unasked = good.commands - good.opened - 1;
      const faulty = await withNode(
        startHere,
        { wrapEngine: engineMutants['opens without database'] },
        fillUp,
      );
      expect(faulty.commands).toBeGreaterThan(faulty.refused + 1);
      note({
        ...row,
        counts: `tablespace of T1 on 16 MB, full: ${good.refused} × 503, ${unasked} commands for them, then ${good.recovered}`,
        violations: Math.abs(unasked),
        mutants: `opens without database: ${faulty.commands} commands`,
      });
      expect({ ...good, unasked }).toEqual({ ...good, refused: 10, recovered: 200, unasked: 0 });
    } finally {
      await owner.query('alter table intents set tablespace pg_default');
      await owner.end();
    }
  });
});

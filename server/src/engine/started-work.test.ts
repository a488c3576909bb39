import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts';
import { createWorld } from '../../test/support/test-world.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { createLogger } from '../kernel/logger.ts';
import { claimDueCloses } from './close-jobs.store.ts';
import { claimDueOpens } from './holds.store.ts';
import { createStartedWork, type Job, type Room } from './started-work.ts';

const logger = createLogger({ level: 'silent' });

function workOn(claimed: readonly (readonly Job[])[]) {
  const rooms: Room[] = [];
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const turns = [...claimed];
  const ticker = createStartedWork<Job>({
    everyMs: 60_000,
    claim: async (room) => {
      rooms.push(room);
      return turns.shift() ?? [];
    },
    work: ({ entityId }) => {
      started.push(entityId);
      return new Promise((resolve) => ends.set(entityId, resolve));
    },
    logger,
    trouble: 'trouble',
  });
  return { ticker, rooms, started, ends };
}

const jobsOf = (orgId: string, count: number): Job[] =>
  Array.from({ length: count }, (_, place) => ({ orgId, entityId: `${orgId}${place}` }));

describe('work that is claimed and started', () => {
  it('does not hold up the next turn, and is not started again while it is under way', async () => {
    const { ticker, started, ends } = workOn([jobsOf('a', 1), [...jobsOf('a', 1), ...jobsOf('b', 1)]]);
    await ticker.turn();
    await ticker.turn();
    expect(started).toEqual(['a0', 'b0']);
    ends.get('a0')?.();
    ends.get('b0')?.();
    await ticker.stop();
  });

  it('may be started again when it has ended', async () => {
    const { ticker, started, ends } = workOn([jobsOf('a', 1), jobsOf('a', 1)]);
    await ticker.turn();
    ends.get('a0')?.();
    await new Promise(setImmediate);
    await ticker.turn();
    expect(started).toEqual(['a0', 'a0']);
    ends.get('a0')?.();
    await ticker.stop();
  });

  it('is waited for at the end', async () => {
    const { ticker, ends } = workOn([jobsOf('a', 2)]);
    await ticker.turn();
    const order: string[] = [];
    const stopped = ticker.stop().then(() => order.push('stopped'));
    for (const id of ['a0', 'a1']) {
      await new Promise(setImmediate);
      order.push(id);
      ends.get(id)?.();
    }
    await stopped;
    expect(order).toEqual(['a0', 'a1', 'stopped']);
  });

  it('is bounded: of one organization, and altogether', async () => {
    const turns = Array.from({ length: 5 }, (_, turn) => jobsOf(`org${turn} `, 100));
    const { ticker, rooms, ends } = workOn([jobsOf('a', 49), jobsOf('b', 50), ...turns]);
    for (let turn = 0; turn < 8; turn += 1) await ticker.turn();
    expect(rooms.map(({ jobs }) => jobs)).toEqual([100, 100, 100, 100, 100, 100, 1]);
    expect(rooms[1]?.fullOrgIds).toEqual([]);
    expect(rooms[2]?.fullOrgIds).toEqual(['b']);
    for (const end of ends.values()) end();
    await ticker.stop();
  });
});

describe('what is due', () => {
  let owner: TestDatabase;
  let db: Database;
  let busy: string;
  let quiet: string;

  beforeAll(async () => {
    owner = await createTestDatabase(inject('ownerUrl'));
    db = createDatabase({ url: owner.url, maxConnections: 2, onError: () => undefined });
    busy = await createWorld(owner).org();
    quiet = await createWorld(owner).org();
  });
  afterAll(async () => {
    await db.close();
    await owner.drop();
  });

  const kinds = {
    closes: {
      table: 'close_jobs',
      insert: `insert into close_jobs (org_id, entity_id, due_at) values ($1, $2, now() - $3 * interval '1 second')`,
      claim: (room: Room) => db.asService((tx) => claimDueCloses(tx, room)),
    },
    'opens of holds': {
      table: 'held_open',
      insert: `insert into held_open (org_id, entity_id, hold_id, window_day, due_at)
        values ($1, $2, 'hold', 0, now() - $3 * interval '1 second')`,
      claim: (room: Room) => db.asService((tx) => claimDueOpens(tx, room)),
    },
  };

  it.each(Object.entries(kinds))('%s: of every organization, however much one has', async (_, kind) => {
    for (let age = 9; age > 3; age -= 1) await owner.query(kind.insert, [busy, `busy${age}`, age]);
    await owner.query(kind.insert, [quiet, 'quiet', 1]);
    const claimed = async (room: Room) => {
      const ids = (await kind.claim(room)).map(({ entityId }) => entityId);
      // What was claimed must not come back in seconds: a slow test would claim it twice.
      await owner.query(`update ${kind.table} set due_at = now() + interval '1 hour' where attempts > 0`);
      return ids.sort();
    };
    expect(await claimed({ jobs: 9, ofOneOrg: 2, fullOrgIds: [] })).toEqual(['busy8', 'busy9', 'quiet']);
    expect(await claimed({ jobs: 1, ofOneOrg: 2, fullOrgIds: [] })).toEqual(['busy7']);
    expect(await claimed({ jobs: 9, ofOneOrg: 2, fullOrgIds: [busy] })).toEqual([]);
    expect(await claimed({ jobs: 9, ofOneOrg: 9, fullOrgIds: [quiet] })).toEqual(['busy4', 'busy5', 'busy6']);
  });
});

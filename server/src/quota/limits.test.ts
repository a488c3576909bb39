import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts';
import { createWorld } from '../../test/support/test-world.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { ulid } from '../kernel/ulid.ts';
import { meter } from './meter.ts';
import { readLimits, readUsage } from './quota.store.ts';

let owner: TestDatabase;
let db: Database;
let orgId: string;

beforeAll(async () => {
  owner = await createTestDatabase(inject('ownerUrl'));
  db = createDatabase({ url: owner.url, maxConnections: 10, onError: () => undefined });
  orgId = await createWorld(owner).org();
});
afterAll(async () => {
  await db.close();
  await owner.drop();
});

const limitOf = async () => {
  const [limit] = await db.inOrg(orgId, (tx) =>
    readLimits(tx, orgId, [{ key: 'devices', period: 'lifetime' }]),
  );
  return limit;
};

interface Case {
  readonly ownTier: number | null | 'absent' | 'no tier';
  readonly defaultTier: number | null | 'absent';
  readonly override: { readonly value: number | null; readonly ends: 'never' | 'later' | 'past' } | null;
}

const value = fc.option(fc.integer({ min: 0, max: 1_000_000_000_000 }));
const cases: fc.Arbitrary<Case> = fc.record({
  ownTier: fc.oneof(value, fc.constantFrom('absent' as const, 'no tier' as const)),
  defaultTier: fc.oneof(value, fc.constant('absent' as const)),
  override: fc.option(
    fc.record({ value, ends: fc.constantFrom('never' as const, 'later' as const, 'past' as const) }),
  ),
});

/** As the specification says it: override, then tier, then the default, which is no limit. */
function expected({ ownTier, defaultTier, override }: Case): [number | null, string] {
  if (override !== null && override.ends !== 'past') return [override.value, 'override'];
  const tier = ownTier === 'no tier' ? defaultTier : ownTier;
  return tier === 'absent' ? [null, 'default'] : [tier, 'tier'];
}

async function arrange({ ownTier, defaultTier, override }: Case): Promise<void> {
  const limits = (tier: number | null | string) => (tier === 'absent' ? {} : { 'devices:lifetime': tier });
  await owner.query('update orgs set tier_slug = null where id = $1', [orgId]);
  await owner.query(`delete from quota_tiers where slug = 'own'`);
  await owner.query('update quota_tiers set limits = $1 where is_default', [limits(defaultTier)]);
  if (ownTier !== 'no tier') {
    await owner.query(`insert into quota_tiers (slug, limits) values ('own', $1)`, [limits(ownTier)]);
    await owner.query(`update orgs set tier_slug = 'own' where id = $1`, [orgId]);
  }
  await owner.query('delete from quota_overrides where org_id = $1', [orgId]);
  if (override === null) return;
  const ends = { never: null, later: '1 hour', past: '-1 second' }[override.ends];
  await owner.query(
    `insert into quota_overrides (org_id, id, quota_key, period, limit_value, expires_at)
     values ($1, $2, 'devices', 'lifetime', $3, now() + $4::interval)`,
    [orgId, ulid(), override.value, ends],
  );
}

describe('the limit that holds', () => {
  it('is that of the override, else of the tier, else none, whatever there is of each', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (each) => {
        await arrange(each);
        const limit = await limitOf();
        expect([limit?.value, limit?.source]).toEqual(expected(each));
      }),
      { numRuns: 60 },
    );
  });

  it('makes a new epoch for everybody when a tier changes', async () => {
    const epochs = () => owner.query<{ epoch: string }>('select epoch from org_epochs order by org_id');
    const before = await epochs();
    await owner.query(`update quota_tiers set limits = '{}' where is_default`);
    expect((await epochs()).every(({ epoch }, index) => epoch !== before[index]?.epoch)).toBe(true);
  });
});

describe('metered use', () => {
  const limit = (key: string, period: string, amount: number) =>
    owner.query(
      'insert into quota_overrides (org_id, id, quota_key, period, limit_value) values ($1, $2, $3, $4, $5)',
      [orgId, ulid(), key, period, amount],
    );
  const use = () =>
    db
      .inOrg(orgId, (tx) => meter(tx, orgId, 'ai_requests'))
      .then(
        () => 'counted',
        (error: { code?: string }) => error.code,
      );

  it('is refused above any of its limits, exactly, however many come at once', async () => {
    await limit('ai_requests', 'day', 100);
    await limit('ai_requests', 'month', 7);
    const answers = await Promise.all(Array.from({ length: 20 }, use));
    expect(answers.filter((answer) => answer === 'counted')).toHaveLength(7);
    expect(answers.filter((answer) => answer === 'quota_exceeded')).toHaveLength(13);
    const usage = await db.inOrg(orgId, (tx) =>
      readUsage(tx, orgId, [{ key: 'ai_requests', period: 'month' }]),
    );
    expect(usage).toEqual([{ key: 'ai_requests', period: 'month', current: 7 }]);
  });

  it('counts without a limit, and not at all when its transaction fails', async () => {
    const failing = db.inOrg(orgId, async (tx) => {
      await meter(tx, orgId, 'scripting_executions');
      throw new Error('the script is no good');
    });
    await expect(failing).rejects.toThrow('no good');
    await db.inOrg(orgId, (tx) => meter(tx, orgId, 'scripting_executions'));
    const names = [{ key: 'scripting_executions', period: 'day' }] as const;
    expect((await db.inOrg(orgId, (tx) => readUsage(tx, orgId, names)))[0]?.current).toBe(1);
  });

  it('would let two take the last use without its lock', async () => {
    await limit('geocoding_requests', 'day', 1);
    const [found] = await owner.query<{ text: string }>(
      `select pg_get_functiondef('meter_usage'::regproc) as text`,
    );
    const mutant = found?.text.replace(/perform pg_advisory_xact_lock[^;]+;/, 'null;') ?? '';
    expect(mutant).not.toBe(found?.text);
    await owner.query(mutant);
    const clients = [0, 1].map(() => new pg.Client({ connectionString: owner.url }));
    for (const [stripe, client] of clients.entries()) {
      await client.connect();
      await client.query('begin');
      await client.query(`select meter_usage($1, 'geocoding_requests', '{day}', $2)`, [orgId, stripe]);
    }
    for (const client of clients) {
      await client.query('commit');
      await client.end();
    }
    const names = [{ key: 'geocoding_requests', period: 'day' }] as const;
    expect((await db.inOrg(orgId, (tx) => readUsage(tx, orgId, names)))[0]?.current).toBe(2);
    await owner.query(found?.text ?? '');
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts';
import { rootOrgId } from '../../test/support/test-world.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { ulid } from '../kernel/ulid.ts';
import { recordEvent } from './audit.store.ts';
import { createAuditPartitions } from './audit-partitions.ts';

const origin = {
  actor: { kind: 'system', userId: null, agentId: null, apiKeyId: null, guestId: null },
  source: 'system',
  correlationId: 'c',
} as const;

const dayMs = 86_400_000;

describe('daily partitions of the audit', () => {
  let owner: TestDatabase;
  let db: Database;
  const warnings: unknown[] = [];
  const logger = { warn: (problem: unknown) => warnings.push(problem) };

  beforeAll(async () => {
    owner = await createTestDatabase(inject('ownerUrl'));
    db = createDatabase({ url: owner.url, maxConnections: 4, onError: () => undefined });
  });
  afterAll(async () => {
    await db.close();
    await owner.drop();
  });

  // The database counts the days as well: no test may begin in one and end in the next.
  beforeEach(async () => {
    const leftMs = dayMs - (Date.now() % dayMs);
    if (leftMs < 20_000) await delay(leftMs + 1_000);
  });

  const dayName = (offset: number): string => {
    const day = new Date(Date.now() + offset * dayMs).toISOString().slice(0, 10);
    return `audit_events_${day.replaceAll('-', '')}`;
  };
  const exists = async (name: string): Promise<boolean> => {
    const rows = await owner.query<{ is: boolean }>(
      `select exists (select from pg_inherits where inhparent = 'audit_events'::regclass
         and inhrelid = to_regclass($1)) as is`,
      [name],
    );
    return rows[0]?.is ?? false;
  };
  const write = () =>
    db.inOrg(rootOrgId, (tx) => recordEvent(tx, origin, { orgId: rootOrgId, type: 'org.updated' }));
  const placeOf = async (id: string): Promise<string | undefined> => {
    const text = 'select tableoid::regclass::text as place from audit_events where id = $1';
    return (await owner.query<{ place: string }>(text, [id]))[0]?.place;
  };
  const ensure = async () => {
    const partitions = createAuditPartitions(db, logger);
    await partitions.start();
    await partitions.stop();
  };

  it('reach from yesterday to thirteen days ahead, and events land in the day they happen', async () => {
    await ensure();
    for (const offset of [-1, 0, 1, 13]) expect(await exists(dayName(offset)), String(offset)).toBe(true);
    expect(await placeOf(await write())).toBe(dayName(0));
  });

  it('are made once by several nodes at the same moment', async () => {
    await owner.query(`drop table ${dayName(9)}, ${dayName(10)}`);
    await Promise.all([ensure(), ensure(), ensure()]);
    expect([await exists(dayName(9)), await exists(dayName(10))]).toEqual([true, true]);
    expect(warnings).toEqual([]);
  });

  it('are looked after every hour until stopped', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const partitions = createAuditPartitions(db, logger);
      await partitions.start();
      await owner.query(`drop table ${dayName(11)}`);
      vi.advanceTimersByTime(3_599_000);
      await partitions.stop();
      expect(await exists(dayName(11))).toBe(false);
      await partitions.start();
      await owner.query(`drop table ${dayName(11)}`);
      vi.advanceTimersByTime(3_600_000);
      await partitions.stop();
      expect(await exists(dayName(11))).toBe(true);
      await owner.query(`drop table ${dayName(11)}`);
      vi.advanceTimersByTime(7_200_000);
      await partitions.stop();
      expect(await exists(dayName(11))).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });

  describe('beside transactions that write events', () => {
    let other: pg.Client;
    beforeAll(async () => {
      other = new pg.Client({ connectionString: owner.url });
      await other.connect();
    });
    afterAll(() => other.end());

    it('do not wait for one that is open', async () => {
      await owner.query(`drop table if exists ${dayName(12)}`);
      await other.query('begin');
      await other.query(
        `insert into audit_events (org_id, id, event_type, outcome, source, actor_kind)
         values ($1, $2, 'org.updated', 'succeeded', 'system', 'system')`,
        [rootOrgId, ulid()],
      );
      await ensure();
      expect(warnings).toEqual([]);
      expect(await exists(dayName(12))).toBe(true);
      await other.query('rollback');
    });

    it('do not hold up new ones while they are made', async () => {
      await owner.query(`drop table if exists ${dayName(12)}`);
      await other.query('begin');
      await other.query("select ensure_audit_partitions((now() at time zone 'UTC')::date, 13)");
      const id = await write();
      await other.query('commit');
      expect(await placeOf(id)).toMatch(/^audit_events_\d{8}$/);
      expect(await exists(dayName(12))).toBe(true);
    });
  });

  it('refuse the service’s own role, which reads and writes through the parent only', async () => {
    for (const table of [dayName(0), 'audit_events_default']) {
      const client = new pg.Client({ connectionString: owner.url });
      await client.connect();
      await client.query("set role lintel_app; set lintel.org = '*'");
      const denied = expect.objectContaining({ code: '42501' });
      await expect(client.query(`select from ${table}`)).rejects.toEqual(denied);
      await expect(client.query(`insert into ${table} (org_id, id) values ('a', 'b')`)).rejects.toEqual(
        denied,
      );
      await expect(client.query(`drop table ${table}`)).rejects.toEqual(denied);
      await client.end();
    }
  });

  it('may be missing: the event is kept all the same, and its day then stays where it began', async () => {
    await owner.query(`drop table ${dayName(0)}`);
    const id = await write();
    expect(await placeOf(id)).toBe('audit_events_default');
    await owner.query(`drop table if exists ${dayName(12)}`);
    await ensure();
    expect([await exists(dayName(0)), await exists(dayName(12))]).toEqual([false, true]);
    expect(warnings).toEqual([]);
    expect(await placeOf(await write())).toBe('audit_events_default');
  });

  it('that can not be made leave a warning and no failed start', async () => {
    await owner.query('alter function ensure_audit_partitions rename to hidden_for_a_test');
    await ensure();
    await owner.query('alter function hidden_for_a_test rename to ensure_audit_partitions');
    expect(warnings).toHaveLength(1);
  });
});

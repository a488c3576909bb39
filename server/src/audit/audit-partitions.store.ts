import type { Queryable } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/**
 * Makes the missing daily partitions from yesterday on, `days` in all; returns how many. The days are the database's:
 * its clock stamps the events.
 */
export async function ensureAuditPartitions(db: Queryable, days: number): Promise<number> {
  const { made } = await db.one<{ made: number }>(sql`
    select ensure_audit_partitions((clock_timestamp() at time zone 'UTC')::date - 1, ${days}) as made`);
  return made;
}

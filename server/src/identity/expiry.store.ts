import type { Queryable } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/** What nothing can need any more. Expired flows stay an hour, so that a late submission is told so. */
export async function deleteExpired(db: Queryable): Promise<void> {
  await db.execute(sql`delete from identity.flows where expires_at < now() - interval '1 hour'`);
  await db.execute(sql`delete from identity.sessions where expires_at < now() - interval '1 day'`);
  await db.execute(sql`delete from identity.one_time_codes where expires_at < now() - interval '1 day'`);
  await db.execute(sql`delete from identity.attempts where window_start < now() - interval '1 hour'`);
}

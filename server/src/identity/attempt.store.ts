import type { Queryable } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/** Counts one attempt, unless the limit is reached: then false, and nothing is written. */
export async function reserveAttempt(
  db: Queryable,
  subject: string,
  windowStart: Date,
  limit: number,
): Promise<boolean> {
  const touched = await db.execute(sql`
    insert into identity.attempts as a (subject, window_start, count) values (${subject}, ${windowStart}, 1)
    on conflict (subject, window_start) do update set count = a.count + 1 where a.count < ${limit}`);
  return touched > 0;
}

/** Only failures count: a success gives its attempt back. */
export async function refundAttempts(
  db: Queryable,
  subjects: readonly string[],
  windowStart: Date,
): Promise<void> {
  // Sorted locks: two people signing in from one network must not deadlock.
  await db.execute(sql`
    update identity.attempts a set count = a.count - 1 from (
      select subject, window_start from identity.attempts
      where subject = any (${subjects}::text[]) and window_start = ${windowStart} and count > 0
      order by subject for update
    ) mine where a.subject = mine.subject and a.window_start = mine.window_start`);
}

import type { Tx } from './database.ts';
import { sql } from './sql.ts';

/** Those of the ids that are no live entity of the organization. */
export async function unknownEntityIds(tx: Tx, orgId: string, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query<{ id: string }>(sql`
    select wanted.id from unnest(${ids}::text[]) as wanted (id)
    where not exists (
      select from entities e where e.org_id = ${orgId} and e.id = wanted.id and e.deleted_at is null)`);
  return rows.map((row) => row.id);
}

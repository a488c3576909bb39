import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { NewIntent } from './intents.store.ts';

/** Who asked for the whole, and so for its parts. */
export type Asker = Pick<NewIntent, 'principalKind' | 'principalId' | 'actor' | 'source' | 'correlationId'>;

export function findAsker(tx: Tx, orgId: string, intentId: string): Promise<Asker | null> {
  return tx.maybeOne<Asker>(sql`
    select principal_kind as "principalKind", principal_id as "principalId", actor, source,
      correlation_id as "correlationId"
    from intents where org_id = ${orgId} and id = ${intentId}`);
}

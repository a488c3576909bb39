import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { NewIntent } from './intents.store.ts';

/** Who asked for the whole, and so for its parts. */
export type Asker = Pick<NewIntent, 'principalKind' | 'principalId' | 'actor' | 'source' | 'correlationId'>;

export interface Whole {
  readonly asker: Asker;
  /** The part whose interval was reserved with the whole. */
  readonly reservedOpenerId: string | null;
  /** Parts that it must not be passed on to. */
  readonly heldBack: readonly string[];
}

export async function findWhole(tx: Tx, orgId: string, intentId: string): Promise<Whole | null> {
  const row = await tx.maybeOne<Asker & Omit<Whole, 'asker'>>(sql`
    select principal_kind as "principalKind", principal_id as "principalId", actor, source,
      correlation_id as "correlationId", reserved_opener_id as "reservedOpenerId",
      coalesce(details -> 'held_back', '[]') as "heldBack"
    from intents where org_id = ${orgId} and id = ${intentId}`);
  if (row === null) return null;
  const { reservedOpenerId, heldBack, ...asker } = row;
  return { asker, reservedOpenerId, heldBack };
}

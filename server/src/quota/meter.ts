import { randomInt } from 'node:crypto';
import { periodsOf, type QuotaKey, type quotaTable } from '@lintel/contract/quotas';
import type { Tx } from '../db/database.ts';
import { countUse } from './quota.store.ts';

export type MeteredKey = {
  [Key in QuotaKey]: (typeof quotaTable)[Key]['effect'] extends 'metered' ? Key : never;
}[QuotaKey];

/** Counters are striped over as many rows as those of the engine: a busy organization does not queue on one. */
const counterStripes = 16;

/** Counts one use in the transaction of what it is for; above the limit that is refused with 429 and undone. */
export function meter(tx: Tx, orgId: string, key: MeteredKey): Promise<void> {
  return countUse(tx, orgId, key, periodsOf(key), randomInt(counterStripes));
}

import pg from 'pg';
import type { Database } from '../db/database.ts';
import { createBatches, type Waiting } from '../kernel/batches.ts';
import { type NewIntent, type OpenVerdict, openIntents } from './intents.store.ts';

export interface IntentOpener {
  /** T1. */
  open(intent: NewIntent): Promise<OpenVerdict>;
}

const maxSize = 100;
const lanes = 2;

/** T1 of many requests in one call: while batches commit, the next one gathers. */
export function createIntentOpener(db: Database): IntentOpener {
  return { open: createBatches({ maxSize, lanes, run: (batch) => openBatch(db, batch) }) };
}

async function openBatch(db: Database, batch: readonly Waiting<NewIntent, OpenVerdict>[]): Promise<void> {
  try {
    const verdicts = await openIntents(
      db.direct,
      batch.map(({ item }) => item),
    );
    batch.forEach(({ resolve }, index) => {
      resolve(verdicts[index] as OpenVerdict);
    });
  } catch (error) {
    if (batch.length === 1 || !wasUndone(error)) throw error;
    // One that can not be written, or that waits for another's lock, must not refuse the rest. Nobody waits for them here.
    for (const entry of batch) void openBatch(db, [entry]).catch(entry.reject);
  }
}

/** The database answered that the transaction failed: nothing of it stands. A lost connection proves nothing. */
function wasUndone(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return cause instanceof pg.DatabaseError && !/^(08|57P0)/.test(cause.code ?? '');
}

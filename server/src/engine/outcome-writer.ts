import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Database } from '../db/database.ts';
import { createBatches, type Waiting } from '../kernel/batches.ts';
import { type FinishedIntent, finishIntents, type IntentState } from './intents.store.ts';

export interface OutcomeWriter {
  /** Resolves with the state that stands in the database, ours or recovery's. */
  write(intent: FinishedIntent): Promise<IntentState>;
}

const maxSize = 200;
const retryDelaysMs = [50, 200, 500, 1000];

/**
 * T2 of many requests in one statement: while one batch commits, the next one gathers. Writing again is safe, because
 * only an intent that is still dispatching changes, so a lost acknowledgement is answered by asking once more.
 */
export function createOutcomeWriter(db: Database): OutcomeWriter {
  return { write: createBatches({ maxSize, lanes: 1, run: (batch) => writeBatch(db, batch) }) };
}

async function writeBatch(
  db: Database,
  batch: readonly Waiting<FinishedIntent, IntentState>[],
): Promise<void> {
  try {
    const states = await writeWithRetries(
      db,
      batch.map(({ item }) => item),
    );
    for (const { item, resolve } of batch) resolve(states.get(item.id) ?? 'unknown');
  } catch (error) {
    if (batch.length === 1) throw error;
    // One that can not be written must not take the outcomes of the others with it.
    for (const entry of batch) void writeBatch(db, [entry]).catch(entry.reject);
  }
}

async function writeWithRetries(
  db: Database,
  intents: readonly FinishedIntent[],
): Promise<Map<string, IntentState>> {
  for (const pause of retryDelaysMs) {
    try {
      return await finishIntents(db.direct, intents);
    } catch (error) {
      if (isDataError(error)) throw error;
      await delay(pause);
    }
  }
  return finishIntents(db.direct, intents);
}

/** Text that PostgreSQL does not take (class 22) or a broken rule (23): no repetition helps. */
function isDataError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '');
}

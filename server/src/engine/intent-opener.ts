import pg from 'pg';
import type { Database } from '../db/database.ts';
import { createBatches, type Waiting } from '../kernel/batches.ts';
import { type NewIntent, type OpenVerdict, openIntents } from './intents.store.ts';

export interface IntentOpener {
  /** T1. */
  open(intent: NewIntent): Promise<OpenVerdict>;
}

type Opening = Waiting<NewIntent, OpenVerdict>;

/** T1 of many requests in one call: while batches commit, the next one gathers. */
export function createIntentOpener(db: Database): IntentOpener {
  const alone = createBatches<NewIntent, OpenVerdict>({
    maxSize: 1,
    lanes: 8,
    run: (batch) => openBatch(db, batch),
  });
  const run = async (batch: readonly Opening[]) => {
    try {
      await openBatch(db, batch);
    } catch (error) {
      if (batch.length === 1 || !wasUndone(error)) throw error;
      // One that can not be written, or that waits for another's lock, must not refuse the rest.
      for (const { item, resolve, reject } of batch) alone(item).then(resolve, reject);
    }
  };
  return { open: createBatches({ maxSize: 100, lanes: 2, run, endsAll: () => db.isSilent() }) };
}

async function openBatch(db: Database, batch: readonly Opening[]): Promise<void> {
  const verdicts = await openIntents(
    db.direct,
    batch.map(({ item }) => item),
  );
  batch.forEach(({ resolve }, index) => {
    resolve(verdicts[index] as OpenVerdict);
  });
}

/** The database answered that the transaction failed: nothing of it stands. A lost connection proves nothing. */
function wasUndone(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return cause instanceof pg.DatabaseError && !/^(08|57P0)/.test(cause.code ?? '');
}

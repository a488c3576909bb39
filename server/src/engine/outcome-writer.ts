import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import { type FinishedIntent, finishIntents, type IntentState } from './intents.store.ts';

export interface OutcomeWriter {
  /** Resolves with the state that stands in the database, ours or recovery's. */
  write(intent: FinishedIntent): Promise<IntentState>;
}

interface Waiting {
  readonly intent: FinishedIntent;
  resolve(state: IntentState): void;
  reject(error: unknown): void;
}

const maxBatch = 200;
const retryDelaysMs = [50, 200, 500, 1000];

/**
 * T2 of many requests in one statement: while one batch commits, the next one gathers. Writing again is safe, because
 * only an intent that is still dispatching changes, so a lost acknowledgement is answered by asking once more.
 */
export function createOutcomeWriter(db: Database): OutcomeWriter {
  const waiting: Waiting[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    while (waiting.length > 0) await writeBatch(db, waiting.splice(0, maxBatch));
    running = false;
  }

  return {
    write: (intent) =>
      new Promise((resolve, reject) => {
        waiting.push({ intent, resolve, reject });
        // A turn of the event loop lets the requests that finished together share a commit.
        if (!running) {
          running = true;
          setImmediate(() => void drain());
        }
      }),
  };
}

async function writeBatch(db: Database, batch: readonly Waiting[]): Promise<void> {
  try {
    const states = await writeWithRetries(
      db,
      batch.map((entry) => entry.intent),
    );
    for (const { intent, resolve } of batch) resolve(states.get(intent.id) ?? 'unknown');
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

async function writeWithRetries(
  db: Database,
  intents: readonly FinishedIntent[],
): Promise<Map<string, IntentState>> {
  for (const pause of retryDelaysMs) {
    try {
      return await finishIntents(db.direct, intents);
    } catch {
      await delay(pause);
    }
  }
  return finishIntents(db.direct, intents);
}

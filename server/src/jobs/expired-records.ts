import type { Database } from '../db/database.ts';
import { AppError } from '../kernel/app-error.ts';
import type { Logger } from '../kernel/logger.ts';
import {
  type ExpiredRecord,
  type ExpiringKind,
  expiringKinds,
  listExpired,
} from './expired-records.store.ts';

export interface ExpiredRecordsDeps {
  readonly db: Database;
  readonly logger: Logger;
  /** Null: deleted records stay until somebody purges them. */
  readonly retentionDays: number | null;
  /** The use case that callers have, with all its rules, as the system. */
  readonly purge: (kind: ExpiringKind, record: ExpiredRecord) => Promise<void>;
}

export interface ExpiredRecords {
  /** Returns how many records are gone. */
  sweep(): Promise<number>;
  start(): void;
  stop(): Promise<void>;
}

const dayMs = 86_400_000;
const firstMs = 60_000;
const batch = 100;

/** Purges what was deleted long enough ago, once a day. Every node does: what one has purged the others do not find. */
export function createExpiredRecords(deps: ExpiredRecordsDeps): ExpiredRecords {
  const timers: NodeJS.Timeout[] = [];
  let running: Promise<unknown> = Promise.resolve();
  let stopping = false;
  const sweep = () => sweepAll(deps, () => stopping);
  const turn = () => {
    running = sweep().catch((error: unknown) => {
      deps.logger.warn({ err: error }, 'expired records could not be purged; they are tried again tomorrow');
    });
  };
  return {
    sweep,
    start: () => {
      if (deps.retentionDays === null) return;
      timers.push(setTimeout(turn, firstMs).unref(), setInterval(turn, dayMs).unref());
    },
    stop: async () => {
      stopping = true;
      for (const timer of timers) clearTimeout(timer);
      await running;
    },
  };
}

async function sweepAll(deps: ExpiredRecordsDeps, isStopping: () => boolean): Promise<number> {
  const { db, retentionDays } = deps;
  if (retentionDays === null) return 0;
  let gone = 0;
  for (const kind of expiringKinds) {
    // What may not go stays in the list: the offset passes over it.
    for (let kept = 0; !isStopping(); ) {
      const page = { limit: batch, offset: kept };
      // As the service: records of every organization expire.
      const records = await db.asService((tx) => listExpired(tx, kind, retentionDays, page));
      if (records.length === 0) break;
      for (const record of records) {
        if (await purgeOne(deps, kind, record)) gone += 1;
        else kept += 1;
      }
    }
  }
  return gone;
}

/** False where a rule keeps it: something hangs on it, or it is the last administrator. */
async function purgeOne(
  deps: ExpiredRecordsDeps,
  kind: ExpiringKind,
  record: ExpiredRecord,
): Promise<boolean> {
  try {
    await deps.purge(kind, record);
    return true;
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'unavailable') throw error;
    deps.logger.debug({ kind, id: record.id, code: error.code }, 'an expired record stays');
    return false;
  }
}

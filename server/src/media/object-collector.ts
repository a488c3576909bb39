import type { Database } from '../db/database.ts';
import type { Logger } from '../kernel/logger.ts';
import type { ObjectStore } from './object-store.ts';
import { deleteImage } from './stored-image.ts';
import { forgetObjects, lockDueObjects } from './unused-objects.store.ts';

export interface ObjectCollector {
  /** Deletes the objects no record points at any more. Returns how many images they were. */
  collect(): Promise<number>;
  start(): void;
  stop(): Promise<void>;
}

const everyMs = 60_000;
const batch = 50;

export function createObjectCollector(deps: {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly logger: Logger;
}): ObjectCollector {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<unknown> = Promise.resolve();
  const collect = () => collectBatch(deps.db, deps.store);
  const turn = () => {
    running = collect().catch((error: unknown) => {
      deps.logger.warn({ err: error }, 'unused images could not be deleted; they are tried again');
    });
  };
  return {
    collect,
    start: () => {
      timer = setInterval(turn, everyMs);
      timer.unref();
    },
    stop: async () => {
      if (timer !== null) clearInterval(timer);
      await running;
    },
  };
}

/** In no organization: the list of unused objects belongs to none. Deleting can be repeated, so a crash loses nothing. */
function collectBatch(db: Database, store: ObjectStore): Promise<number> {
  return db.inOrg([], async (tx) => {
    const names = await lockDueObjects(tx, batch);
    for (const name of names) await deleteImage(store, name);
    await forgetObjects(tx, names);
    return names.length;
  });
}

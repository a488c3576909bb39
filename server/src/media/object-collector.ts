import type { Database } from '../db/database.ts';
import type { Logger } from '../kernel/logger.ts';
import { createTicker, type Ticker } from '../kernel/ticker.ts';
import type { ObjectStore } from './object-store.ts';
import { deleteImage } from './stored-image.ts';
import { forgetObjects, lockDueObjects } from './unused-objects.store.ts';

export interface ObjectCollector extends Pick<Ticker, 'start' | 'stop'> {
  /** Deletes the objects no record points at any more. Returns how many images they were. */
  collect(): Promise<number>;
}

const everyMs = 60_000;
const batch = 50;

export function createObjectCollector(deps: {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly logger: Logger;
}): ObjectCollector {
  const collect = () => collectBatch(deps.db, deps.store);
  const trouble = 'unused images could not be deleted; they are tried again';
  return { collect, ...createTicker({ everyMs, work: collect, logger: deps.logger, trouble }) };
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

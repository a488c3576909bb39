import type { Database } from '../db/database.ts';
import type { Logger } from '../kernel/logger.ts';
import type { ObservedStatus } from '../providers/provider.ts';
import { upsertStatus } from './target.store.ts';

export interface StateReport {
  readonly orgId: string;
  readonly entityId: string;
  readonly status: ObservedStatus;
  readonly source: string;
}

export interface StateReports {
  take(report: StateReport): void;
  settled(): Promise<void>;
}

/** Writes what devices report, one after the other. A lost report is no harm: the next one corrects it. */
export function createStateReports({ db, logger }: { db: Database; logger: Logger }): StateReports {
  let tail: Promise<void> = Promise.resolve();
  const write = async (report: StateReport) => {
    try {
      await db.inOrg(report.orgId, (tx) => upsertStatus(tx, report));
    } catch (error) {
      logger.warn({ err: error, entity_id: report.entityId }, 'a reported state could not be written');
    }
  };
  return {
    take(report) {
      tail = tail.then(() => write(report));
    },
    settled: () => tail,
  };
}

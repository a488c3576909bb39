import type { Database } from '../db/database.ts';
import type { Logger } from '../kernel/logger.ts';
import { createTicker } from '../kernel/ticker.ts';
import { ensureAuditPartitions } from './audit-partitions.store.ts';

export interface AuditPartitions {
  /** Makes what is missing now, and looks again every hour. */
  start(): Promise<void>;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

const everyMs = 3_600_000;
/** Two weeks ahead, so that even a long fault of this does no harm. */
const daysKept = 15;

/**
 * Keeps a partition ready for each day. Every node looks; the database lets one work at a time. No failure stops
 * anything: the default partition takes what has no other place.
 */
export function createAuditPartitions(
  db: Pick<Database, 'direct'>,
  logger: Pick<Logger, 'warn'>,
): AuditPartitions {
  const ticker = createTicker({
    everyMs,
    work: () => ensureAuditPartitions(db.direct, daysKept),
    logger,
    trouble: 'the daily audit partitions could not be made; trying again in an hour',
  });
  return {
    start: () => {
      ticker.start();
      return ticker.turn();
    },
    stop: () => ticker.stop(),
  };
}

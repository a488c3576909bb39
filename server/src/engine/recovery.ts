import type { Database } from '../db/database.ts';
import type { Logger } from '../kernel/logger.ts';
import { createTicker } from '../kernel/ticker.ts';
import { expireApprovals, forgetOldApprovals } from './approvals.store.ts';
import {
  deleteExpiredConfirmations,
  type FinishedIntent,
  finishIntents,
  forgetOldKeys,
  listOrphans,
} from './intents.store.ts';

export interface Recovery {
  /** Runs once, then every few seconds. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const everyMs = 5_000;
const batch = 500;
/** While it runs, orphans are young: another node's, or those of one that died minutes ago. */
const youngMinutes = 15;
const anyAgeMinutes = 7 * 24 * 60;

/**
 * An intent without an outcome past its deadline belongs to a node that died in between. Whether the door moved can
 * not be known: it becomes `unknown`, with its event in the audit log, and is never sent again.
 */
export function createRecovery({ db, logger }: { db: Database; logger: Logger }): Recovery {
  let maxAgeMinutes = anyAgeMinutes;
  const work = async (): Promise<void> => {
    const recovered = await recoverOrphans(db, maxAgeMinutes);
    maxAgeMinutes = youngMinutes;
    if (recovered > 0) logger.warn({ recovered }, 'commands of a lost node were closed as unknown');
    await db.asService(async (tx) => {
      await forgetOldKeys(tx);
      await deleteExpiredConfirmations(tx);
      await expireApprovals(tx);
      await forgetOldApprovals(tx);
    });
  };
  const ticker = createTicker({
    everyMs,
    work,
    logger,
    trouble: 'recovery could not run; it will try again',
  });
  return {
    async start() {
      await ticker.turn();
      ticker.start();
    },
    stop: () => ticker.stop(),
  };
}

/** How many got an outcome. */
async function recoverOrphans(db: Database, maxAgeMinutes: number): Promise<number> {
  let recovered = 0;
  for (;;) {
    const orphans = await db.asService((tx) => listOrphans(tx, maxAgeMinutes, batch));
    if (orphans.length > 0) await finishIntents(db.direct, orphans.map(lost));
    recovered += orphans.length;
    if (orphans.length < batch) return recovered;
  }
}

function lost({ orgId, id }: { orgId: string; id: string }): FinishedIntent {
  const message = 'the service stopped between the command and its answer';
  return {
    orgId,
    id,
    state: 'unknown',
    result: { code: 'outcome_unknown', message },
    releaseKey: false,
    outcome: 'unknown',
    details: { code: 'outcome_unknown', reason: message, recovered: true },
    status: 'unknown',
    statusSource: 'recovery',
  };
}

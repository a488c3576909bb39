import { findOrgScope } from '../auth/principal.store.ts';
import type { OrgScope } from '../kernel/call.ts';
import type { Logger } from '../kernel/logger.ts';
import { createTicker, type Ticker } from '../kernel/ticker.ts';
import { openHoldOf } from '../policy/open-holds.ts';
import { carryOut, type DecidedAction } from './carry-out.ts';
import { type CloseJob, claimDueCloses, deleteCloseJob } from './close-jobs.store.ts';
import type { EngineDeps } from './engine.ts';
import { systemIntent } from './system-intent.ts';

const lookEveryMs = 500;
const batch = 50;

/** Closes what was opened for a time on devices that can not do so themselves. */
export function createCloseJobs(deps: EngineDeps, logger: Logger): Ticker {
  const work = async (): Promise<void> => {
    const due = await deps.db.asService((tx) => claimDueCloses(tx, batch));
    await Promise.all(due.map((job) => closeDoor(deps, logger, job)));
  };
  const trouble = 'the doors to close could not be looked up; it is tried again';
  return createTicker({ everyMs: lookEveryMs, work, logger, trouble });
}

async function closeDoor(deps: EngineDeps, logger: Logger, job: CloseJob): Promise<void> {
  try {
    const action = await decidedClose(deps, job);
    if (action === null) await deps.db.inOrg(job.orgId, (tx) => deleteCloseJob(tx, job));
    // A paused integration is left alone; the door is closed when it comes back.
    if (action === null || !action.target.enabled) return;
    const startedMs = deps.clock.monotonicMs();
    const intent = systemIntent(action, null);
    // Anything but `opened` is a race with a change of the organization: the job comes due again.
    if ((await deps.intents.open(intent)).kind === 'opened') await carryOut(deps, action, intent, startedMs);
  } catch (error) {
    // Its event says what happened; the job is still there.
    logger.warn({ err: error, entity_id: job.entityId }, 'a door could not be closed; it is tried again');
  }
}

/**
 * Null when there is nothing left to close, or a hold keeps it open: that closes at its own end. A closing needs no
 * permission: the opening had it.
 */
async function decidedClose(deps: EngineDeps, job: CloseJob): Promise<DecidedAction | null> {
  const org: OrgScope | null = await deps.db.inOrg(job.orgId, (tx) => findOrgScope(tx, job.orgId));
  const target = org === null ? null : await deps.targets.find(org, job.entityId);
  if (org === null || target === null) return null;
  if (openHoldOf(await deps.policies.snapshot(org), target, deps.clock.millis()) !== null) return null;
  return { org, target, verb: 'close', actionId: 'switchable.close', pulseSeconds: null };
}

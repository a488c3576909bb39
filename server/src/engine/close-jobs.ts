import { findOrgScope } from '../auth/principal.store.ts';
import { AppError } from '../kernel/app-error.ts';
import type { OrgScope } from '../kernel/call.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Ticker } from '../kernel/ticker.ts';
import { conduct, type DecidedAction, deadlineMs } from './carry-out.ts';
import { type CloseJob, claimDueCloses, deleteCloseJob } from './close-jobs.store.ts';
import type { EngineDeps } from './engine.ts';
import { holdStandingOf } from './hold-standing.ts';
import { type Claimed, createStartedWork } from './started-work.ts';
import { systemIntent } from './system-intent.ts';

const lookEveryMs = 500;

/** Closes what was opened for a time on devices that can not do so themselves. */
export function createCloseJobs(deps: EngineDeps, logger: Logger): Ticker {
  return createStartedWork<CloseJob & Claimed>({
    everyMs: lookEveryMs,
    claim: async (room) => {
      const claimedMs = deps.clock.monotonicMs();
      const due = await deps.db.asService((tx) => claimDueCloses(tx, room));
      return due.map((job) => ({ ...job, claimedMs }));
    },
    work: (job) => closeDoor(deps, logger, job),
    logger,
    trouble: 'the doors to close could not be looked up; it is tried again',
  });
}

async function closeDoor(deps: EngineDeps, logger: Logger, job: CloseJob & Claimed): Promise<void> {
  try {
    const action = await decidedClose(deps, job);
    if (action === 'owed by nobody') await deps.db.inOrg(job.orgId, (tx) => deleteCloseJob(tx, job));
    else if (action !== 'not now') await close(deps, action, job);
  } catch (error) {
    logger.warn({ err: error, entity_id: job.entityId }, 'a door could not be closed; it is tried again');
  }
}

/** Where it was not delivered its event says so; the job is still there, and comes due again. */
async function close(deps: EngineDeps, action: DecidedAction, { claimedMs }: Claimed): Promise<void> {
  const startedMs = deps.clock.monotonicMs();
  const intent = systemIntent(action, null);
  // Anything but `opened` is a race with a change of the organization.
  if ((await deps.intents.open(intent)).kind !== 'opened') return;
  const { answer } = await conduct(deps, action, intent, { startedMs, untilMs: claimedMs + deadlineMs });
  if (answer instanceof AppError) throw answer;
}

/**
 * What a hold has opened closes at its own end; what it is about to open waits for what becomes of that. A paused
 * integration is left alone, and the door closed when it comes back. A closing needs no permission: the opening had it.
 */
async function decidedClose(
  deps: EngineDeps,
  job: CloseJob,
): Promise<DecidedAction | 'owed by nobody' | 'not now'> {
  const org: OrgScope | null = await deps.db.inOrg(job.orgId, (tx) => findOrgScope(tx, job.orgId));
  const target = org === null ? null : await deps.targets.find(org, job.entityId);
  if (org === null || target === null) return 'owed by nobody';
  const standing = await holdStandingOf(deps, org, target);
  if (standing === 'open') return 'owed by nobody';
  if (standing === 'coming' || !target.enabled) return 'not now';
  return { org, target, verb: 'close', actionId: 'switchable.close', pulseSeconds: null };
}

import { originOf, recordEvent } from '../audit/audit.store.ts';
import { findOrgScope } from '../auth/principal.store.ts';
import { type OrgScope, systemCall } from '../kernel/call.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Ticker } from '../kernel/ticker.ts';
import { ulid } from '../kernel/ulid.ts';
import { nextWindowChange, openHoldOf } from '../policy/open-holds.ts';
import { actionDetails, conduct, type DecidedAction, deadlineMs } from './carry-out.ts';
import type { EngineDeps } from './engine.ts';
import { type Refusal, refusalOf } from './hold-standing.ts';
import {
  claimDueHoldJobs,
  claimDueOpens,
  type DueOpen,
  forgetIdleHoldJob,
  type HoldJob,
  holdKeyOf,
  holdThese,
  keepClaim,
  listHoldPlaces,
  markOpened,
  releaseOthers,
} from './holds.store.ts';
import { allHeldBack } from './portal-lights.ts';
import { openersOf } from './portals.ts';
import { type Claimed, createStartedWork } from './started-work.ts';
import { systemIntent } from './system-intent.ts';

const lookEveryMs = 500;
const batch = 50;

/** Opens what is to be held open when its window begins, once for each window, and has it closed at the end. */
export function createHolds(deps: EngineDeps, logger: Logger): Ticker {
  return createStartedWork<DueOpen & Claimed>({
    everyMs: lookEveryMs,
    first: () => lookAtHolds(deps, logger),
    claim: async (room) => {
      const claimedMs = deps.clock.monotonicMs();
      const due = await deps.db.asService((tx) => claimDueOpens(tx, room));
      return due.map((open) => ({ ...open, claimedMs }));
    },
    work: (open) => openHeld(deps, logger, open),
    logger,
    trouble: 'the holds could not be looked at; it is tried again',
  });
}

async function lookAtHolds(deps: EngineDeps, logger: Logger): Promise<void> {
  const jobs = await deps.db.asService((tx) => claimDueHoldJobs(tx, batch));
  for (const job of jobs) {
    await lookAt(deps, job).catch((error: unknown) => {
      logger.warn({ err: error, org_id: job.orgId }, 'the holds of an organization could not be looked at');
    });
  }
}

/** Writes down what is to be open now. Read after the claim, so what it does not see changes the claim. */
async function lookAt(deps: EngineDeps, job: HoldJob): Promise<void> {
  const { org, places } = await deps.db.inOrg(job.orgId, async (tx) => ({
    org: await findOrgScope(tx, job.orgId),
    places: await listHoldPlaces(tx, job.orgId),
  }));
  if (org === null) return;
  const nowMs = deps.clock.millis();
  const policies = await deps.policies.snapshot(org);
  const held = places.flatMap((place) => {
    const window = org.deletedAt === null ? openHoldOf(policies, place, nowMs) : null;
    return window === null ? [] : [{ ...window, entityId: place.entityId }];
  });
  await deps.db.inOrg(job.orgId, async (tx) => {
    if (!(await keepClaim(tx, job, nextWindowChange(policies, nowMs)))) return;
    await releaseOthers(tx, job.orgId, held);
    await holdThese(tx, job.orgId, held);
    await forgetIdleHoldJob(tx, job.orgId);
  });
}

async function openHeld(deps: EngineDeps, logger: Logger, due: DueOpen & Claimed): Promise<void> {
  try {
    if (await isSettled(deps, due)) await deps.db.inOrg(due.orgId, (tx) => markOpened(tx, due));
  } catch (error) {
    logger.warn({ err: error, entity_id: due.entityId }, 'a hold could not open a door; it is tried again');
  }
}

/** Whether nothing more is to be sent for this window: it was delivered, refused, or its outcome is unknown. */
async function isSettled(deps: EngineDeps, due: DueOpen & Claimed): Promise<boolean> {
  const org: OrgScope | null = await deps.db.inOrg(due.orgId, (tx) => findOrgScope(tx, due.orgId));
  const action = org === null ? null : await decidedOpen(deps, org, due);
  if (action === null) return false;
  const startedMs = deps.clock.monotonicMs();
  // One key for one window: whatever two nodes or a crash make of it, T1 lets one open through.
  const lights = await allHeldBack(deps, action.org, action.target);
  const intent = systemIntent(action, holdKeyOf(due), { hold_id: due.holdId, ...lights });
  const verdict = await deps.intents.open(intent);
  if (verdict.kind === 'exists') return verdict.stored.state !== 'dispatching';
  // Anything else is a race with a change of the organization.
  if (verdict.kind !== 'opened') return false;
  const until = { startedMs, untilMs: due.claimedMs + deadlineMs };
  return (await conduct(deps, action, intent, until)).delivery.kind !== 'not_sent';
}

/** Null when it is not to be opened now: the window is over, the integration paused, or a policy is against it. */
async function decidedOpen(deps: EngineDeps, org: OrgScope, due: DueOpen): Promise<DecidedAction | null> {
  const target = await deps.targets.find(org, due.entityId);
  if (!target?.enabled) return null;
  const nowMs = deps.clock.millis();
  const policies = await deps.policies.snapshot(org);
  const window = openHoldOf(policies, target, nowMs);
  if (window?.holdId !== due.holdId || window.windowDay !== due.windowDay) return null;
  const action: DecidedAction = {
    org,
    target,
    verb: 'open',
    actionId: 'switchable.open',
    pulseSeconds: null,
  };
  const openers = await openersOf(deps, org, target);
  const refusal = await refusalOf(deps, due.holdId, { org, target, verb: 'open', openers, policies, nowMs });
  if (refusal === null) return action;
  if (due.attempts === 1) await recordDenial(deps, action, due, refusal);
  return null;
}

async function recordDenial(
  deps: EngineDeps,
  action: DecidedAction,
  { orgId, entityId, holdId }: DueOpen,
  { policyId, policyType, message }: Refusal,
): Promise<void> {
  const { call } = systemCall(orgId, ulid());
  await deps.db.inOrg(orgId, (tx) =>
    recordEvent(tx, originOf(call), {
      orgId,
      type: 'entity.action',
      outcome: 'denied',
      resource: { type: 'entity', id: entityId },
      details: {
        ...actionDetails(action),
        automatic: true,
        hold_id: holdId,
        message,
        policy_id: policyId,
        policy_type: policyType,
      },
    }),
  );
}

import type { ActionResult } from '@lintel/contract/actions';
import { originOf, recordEvent } from '../audit/audit.store.ts';
import { AppError, invalid } from '../kernel/app-error.ts';
import {
  actorOf,
  type Call,
  type OrgScope,
  type Principal,
  principalId,
  principalOf,
} from '../kernel/call.ts';
import { refusedOnlyAfresh, StaleDecision } from '../kernel/stale-decision.ts';
import { ulid } from '../kernel/ulid.ts';
import { requestApproval } from './approvals.store.ts';
import { approvalOf, approvalRequestOf, hasApproval, needsProof } from './approvals.ts';
import { actionDetails, carryOut, deadlineMs } from './carry-out.ts';
import { confirmationHash, issueConfirmation } from './confirmations.ts';
import { countersOf } from './counters.rules.ts';
import type { Decision } from './decide.ts';
import type { EngineDeps } from './engine.ts';
import { findStoredIntent, type NewIntent, type OpenVerdict } from './intents.store.ts';
import { tooSoon } from './intervals.ts';
import { replay } from './outcome.rules.ts';
import { type ActionRequest, closeAfterMs, type PreparedAction, prepareAction } from './prepare-action.ts';

/** The one way to hardware: decide → T1 → command → T2. See ARCHITECTURE.md, "The way of an open". */
export async function executeAction(
  deps: EngineDeps,
  call: Call,
  org: OrgScope,
  request: ActionRequest,
): Promise<ActionResult> {
  const decidedIn = minuteOf(deps);
  const { action, key } = await refusedOnlyAfresh(call, async () => ({
    key: idempotencyKeyOf(call, principalOf(call)),
    action: await prepareAction(deps, org, principalOf(call), request),
  }));
  const earlier = await requirePermission(deps, call, action, key);
  if (earlier !== null) return earlier;
  const degradation = await deps.slowDown.before(call, action, key);
  if (degradation !== null && minuteOf(deps) !== decidedIn) {
    // What was decided before the wait may not hold any more: no rule is finer than a minute.
    deps.slowDown.credit(call, action, degradation);
    throw new StaleDecision();
  }
  const startedMs = deps.clock.monotonicMs();
  const intent = intentOf(call, action, key);
  const verdict = await deps.intents.open(intent);
  if (verdict.kind === 'stale' && degradation !== null) deps.slowDown.credit(call, action, degradation);
  const stored = settleVerdict(verdict);
  if (stored !== null) return stored;
  return carryOut(deps, { ...action, degradation }, intent, startedMs);
}

const minuteOf = ({ clock }: EngineDeps): number => Math.floor(clock.millis() / 60_000);

function idempotencyKeyOf(call: Call, principal: Principal): string | null {
  const key = call.idempotencyKey;
  if (key !== null && !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw invalid('/headers/Idempotency-Key', 'must be 1 to 255 printable ASCII characters');
  }
  if (key === null && principal.kind === 'agent') {
    throw new AppError('idempotency_key_required', 'an agent must send Idempotency-Key');
  }
  return key;
}

/** Null when the action may go on. A stored result wins over a refusal of now; a denial is in the audit log. */
async function requirePermission(
  deps: EngineDeps,
  call: Call,
  action: PreparedAction,
  key: string | null,
): Promise<ActionResult | null> {
  const { decision, target, verb, principal, org, fingerprint } = action;
  const refused = decision.effect === 'deny' || decision.effect === 'approve';
  const unconfirmed = needsProof(decision) && call.confirmation === null;
  const unknownState =
    verb === 'toggle' && (principal.kind === 'agent' || !action.manifest.actions.includes('toggle'));
  if (!refused && !unconfirmed && !unknownState && target.enabled) return null;
  if (call.recalled) throw new StaleDecision();

  const stored =
    key === null
      ? null
      : await deps.db.inOrg(org.id, (tx) =>
          findStoredIntent(tx, org.id, principalId(principal), key, fingerprint),
        );
  if (stored !== null) return replay(stored);
  if (refused && !(await hasApproval(deps, action))) throw await deny(deps, call, action);
  if (!target.enabled) throw new AppError('integration_disabled', 'the integration is paused');
  if (unknownState) throw new AppError('state_unknown', 'the state is unknown, so a toggle could do either');
  if (!unconfirmed) return null;
  const { token } = await issueConfirmation(deps, action);
  throw new AppError(
    'confirmation_required',
    `send the preview token back to confirm (${confirming(decision)})`,
    {
      previewToken: token,
    },
  );
}

function confirming({ reasons }: Decision): string {
  const reason = reasons.find(({ effect }) => effect === 'confirm');
  return `${reason?.policyType} ${reason?.policyId}`;
}

/** The refusal with its event; where somebody else could still allow it, they are asked in the same transaction. */
async function deny(deps: EngineDeps, call: Call, action: PreparedAction): Promise<AppError> {
  const { org, target, decision } = action;
  const [reason] = decision.reasons.filter((candidate) => candidate.effect === decision.effect);
  const code = decision.effect === 'approve' ? 'approval_required' : 'policy_denied';
  const message = reason?.message ?? 'denied';
  const policy = { policy_id: reason?.policyId ?? null, policy_type: reason?.policyType ?? null };
  const approvalId = await deps.db.inOrg(org.id, async (tx) => {
    const request = reason === undefined ? null : approvalRequestOf(action, reason);
    const id = request === null ? null : await requestApproval(tx, request);
    const approval = id === null ? {} : { approval_id: id };
    await recordEvent(tx, originOf(call), {
      orgId: org.id,
      type: 'entity.action',
      outcome: 'denied',
      resource: { type: 'entity', id: target.entityId },
      details: { ...actionDetails(action), ...watched(decision), code, message, ...policy, ...approval },
    });
    return id;
  });
  const asked = approvalId === null ? '' : `; approval ${approvalId}`;
  return new AppError(code, `${message} (${policy.policy_type} ${policy.policy_id}${asked})`, {
    audited: true,
    ...(approvalId === null ? {} : { details: [{ path: '/approval_id', message: approvalId }] }),
  });
}

/** For the event: what policies that only watch would have done. */
function watched({ wouldHave }: Decision): Record<string, unknown> {
  if (wouldHave.length === 0) return {};
  return {
    would_have: wouldHave.map(({ policyId, policyType, scope, effect }) => ({
      policy_id: policyId,
      policy_type: policyType,
      scope,
      effect,
    })),
  };
}

function intentOf(call: Call, action: PreparedAction, key: string | null): NewIntent {
  const { org, principal, target, verb } = action;
  return {
    orgId: org.id,
    epoch: org.epoch,
    credentialExpiresAt: principal.kind === 'user' ? null : principal.expiresAt,
    id: ulid(),
    entityId: target.entityId,
    deviceId: target.deviceId,
    integrationId: target.integrationId,
    actionId: action.actionId,
    principalKind: principal.kind,
    principalId: principalId(principal),
    actor: actorOf(principal),
    source: call.source,
    details: { ...actionDetails(action), ...watched(action.decision), ...action.heldBack },
    correlationId: call.correlationId,
    idempotencyKey: key,
    fingerprint: action.fingerprint,
    confirmationHash: proofOf(call, action.decision),
    approval: approvalOf(action),
    deadlineMs,
    minIntervalMs: action.minIntervalMs,
    openers: action.openers,
    counters: countersOf(verb, principal),
    closeAfterMs: closeAfterMs(action),
  };
}

function proofOf(call: Call, decision: Decision): Buffer | null {
  if (!needsProof(decision)) return null;
  if (call.confirmation === null) throw new Error('what must be confirmed has come here without its proof');
  return confirmationHash(call.confirmation);
}

/** Null when the intent is ours to carry out. */
function settleVerdict(verdict: OpenVerdict): ActionResult | null {
  switch (verdict.kind) {
    case 'opened':
      return null;
    case 'stale':
    // Another request has spent it: this one is decided anew, and refused with its reasons.
    case 'approval_missing':
      throw new StaleDecision();
    case 'expired':
      throw new AppError('unauthorized', 'a valid credential is required');
    case 'exists':
      return replay(verdict.stored);
    case 'confirmation_invalid':
      throw new AppError('confirmation_invalid', 'the confirmation is not valid for this request');
    case 'interval':
      throw tooSoon(verdict.waitMs);
  }
}

import type { PutHoldRequest } from '@lintel/contract/holds';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database } from '../../db/database.ts';
import { confirmationHash, issueConfirmation } from '../../engine/confirmations.ts';
import { type Decision, decide } from '../../engine/decide.ts';
import type { Engine } from '../../engine/engine.ts';
import { AppError } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, principalId, principalOf, requireRole } from '../../kernel/call.ts';
import { sha256Canonical } from '../../kernel/canonical-json.ts';
import type { Clock } from '../../kernel/clock.ts';
import { withoutHold } from './holds.rules.ts';
import type { HoldProof, HoldTarget } from './holds.store.ts';

export interface PermissionDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly engine: Pick<Engine, 'openFacts'>;
}

/** A hold that is to keep something open. */
export interface Opening {
  readonly target: HoldTarget;
  /** What it would open. */
  readonly entityIds: readonly string[];
  /** The hold that it takes the place of: that one is not in its way. */
  readonly replaced: string | null;
  readonly input: PutHoldRequest;
}

interface Refused {
  readonly entityId: string;
  readonly decision: Decision;
}

/**
 * Holding open is an open that lasts: it takes what an open by this caller takes now, of everything that it reaches.
 * Answers the proof that the commit must spend; null where none is asked for.
 */
export async function requirePermission(
  deps: PermissionDeps,
  call: Call,
  org: OrgScope,
  opening: Opening,
): Promise<HoldProof | null> {
  const principal = principalOf(call);
  if (opening.entityIds.length === 0) requireRole(principal, org, 'entities:set_state');
  const strictest = await strictestOf(deps, call, org, opening);
  if (strictest === null) return null;
  if (strictest.decision.effect !== 'confirm') throw await refusal(deps, call, org, opening, strictest);
  const { target, input } = opening;
  const place = target.entityId ?? target.deviceId;
  const fingerprint = sha256Canonical([org.id, principalId(principal), place, 'hold_open', input]);
  if (call.confirmation !== null) return { tokenHash: confirmationHash(call.confirmation), fingerprint };
  const { token } = await issueConfirmation(deps, { org, fingerprint });
  throw new AppError('confirmation_required', 'send the preview token back to confirm', {
    previewToken: token,
  });
}

/** Null when all of it is allowed. */
async function strictestOf(
  { engine, clock }: PermissionDeps,
  call: Call,
  org: OrgScope,
  { entityIds, replaced }: Opening,
): Promise<Refused | null> {
  const found = await Promise.all(entityIds.map((entityId) => engine.openFacts(org, entityId)));
  const nowMs = clock.millis();
  const refused = found
    .filter((facts) => facts !== null)
    .map((facts) => {
      const policies = replaced === null ? facts.policies : withoutHold(facts.policies, replaced);
      const decision = decide({ ...facts, policies, principal: principalOf(call), verb: 'open', nowMs });
      return { entityId: facts.target.entityId, decision };
    });
  const having = (effect: Decision['effect']) => refused.find(({ decision }) => decision.effect === effect);
  return having('deny') ?? having('approve') ?? having('confirm') ?? null;
}

/** With its event. Nobody is asked for consent: what a hold does again and again is not one request. */
async function refusal(
  { db }: PermissionDeps,
  call: Call,
  org: OrgScope,
  { target }: Opening,
  { entityId, decision }: Refused,
): Promise<AppError> {
  const reason = decision.reasons.find(({ effect }) => effect === decision.effect);
  // No policy, but the want of a role.
  if (reason === undefined || reason.policyId === null)
    return new AppError('forbidden', reason?.message ?? 'denied');
  const why = decision.effect === 'approve' ? 'a hold can not be opened by consent' : reason.message;
  const { deviceId } = target;
  await db.inOrg(org.id, (tx) =>
    recordEvent(tx, originOf(call), {
      orgId: org.id,
      type: target.entityId === null ? 'device.hold_changed' : 'entity.hold_changed',
      outcome: 'denied',
      resource:
        target.entityId === null ? { type: 'device', id: deviceId } : { type: 'entity', id: target.entityId },
      details: {
        ...{
          device_id: deviceId,
          entity_id: entityId,
          mode: 'hold_open',
          code: 'policy_denied',
          message: why,
        },
        ...{ policy_id: reason.policyId, policy_type: reason.policyType },
      },
    }),
  );
  return new AppError('policy_denied', `${why} (${reason.policyType} ${reason.policyId})`, { audited: true });
}

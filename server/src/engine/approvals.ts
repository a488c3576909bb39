import { type Principal, principalId } from '../kernel/call.ts';
import { canonicalJson, sha256Canonical } from '../kernel/canonical-json.ts';
import type { Reason } from '../policy/typed-rules.ts';
import { type ApprovalRequest, isApproved } from './approvals.store.ts';
import type { Decision } from './decide.ts';
import type { EngineDeps } from './engine.ts';
import type { PreparedAction } from './prepare-action.ts';

const maxNoteLength = 500;

/**
 * What somebody consents to: this request, for these policies, which ask for so many people. A policy or a threshold
 * that comes later has nobody's consent.
 */
export function approvalOf({
  decision,
  fingerprint,
}: Pick<PreparedAction, 'decision' | 'fingerprint'>): Buffer | null {
  if (decision.effect !== 'approve') return null;
  const asking = decision.reasons.filter(({ effect }) => effect === 'approve');
  const policies = asking.map(({ policyId, policyType }) => `${policyType} ${policyId}`).sort();
  return sha256Canonical([fingerprint.toString('hex'), policies, decision.requiredApprovals]);
}

/** Whether others have consented to what asks for it. The commit looks again, and spends it. */
export async function hasApproval(deps: EngineDeps, action: PreparedAction): Promise<boolean> {
  const approval = approvalOf(action);
  if (approval === null) return false;
  return await deps.db.inOrg(action.org.id, (tx) => isApproved(tx, action.org.id, approval));
}

/** Whether the caller must prove that they saw what the request does; an approval by others does not stand for it. */
export function needsProof({ effect, reasons }: Decision): boolean {
  return effect !== 'deny' && reasons.some((reason) => reason.effect === 'confirm');
}

/** What others are asked; null where nobody could allow it. */
export function approvalRequestOf(action: PreparedAction, reason: Reason): ApprovalRequest | null {
  const { org, principal, target, decision, actionId, payload } = action;
  const approval = approvalOf(action);
  if (approval === null) return null;
  return {
    orgId: org.id,
    policyId: reason.policyId ?? '',
    policyType: reason.policyType,
    requester: requesterOf(principal),
    entityId: target.entityId,
    label: target.name ?? target.doorName,
    note: `${actionId} ${canonicalJson(payload)}`.slice(0, maxNoteLength),
    approval,
    requiredCount: decision.requiredApprovals,
  };
}

function requesterOf(principal: Principal): ApprovalRequest['requester'] {
  return { kind: principal.kind, id: principalId(principal), userId: principal.userId };
}

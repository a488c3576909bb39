import type { Approval, ApprovalDecision } from '@lintel/contract/approvals';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { ApprovalsService, Decided } from './approvals.service.ts';
import type { ApprovalRecord } from './approvals.store.ts';

type Ids = 'list_policy_approvals' | 'approve_policy_approval' | 'deny_policy_approval';

export function approvalRoutes(approvals: ApprovalsService): HandlersOf<Ids> {
  return {
    list_policy_approvals: async ({ org }) => (await approvals.pending(org)).map(toRecord),
    approve_policy_approval: async ({ call, org, params }) =>
      toDecision(await approvals.vote(call, org, params.id, 'approve')),
    deny_policy_approval: async ({ call, org, params }) =>
      toDecision(await approvals.vote(call, org, params.id, 'deny')),
  };
}

function toRecord(approval: ApprovalRecord): Approval {
  return {
    id: approval.id,
    org_id: approval.orgId,
    policy_id: approval.policyId,
    policy_type: approval.policyType,
    requester_user_id: approval.requesterUserId,
    requester_kind: approval.requesterKind,
    requester_id: approval.requesterId,
    status: approval.status,
    required_count: approval.requiredCount,
    approve_count: approval.approveCount,
    subject_kind: approval.subjectKind,
    subject_ref: approval.subjectRef,
    subject_label: approval.subjectLabel,
    note: approval.note,
    created_at: toRfc3339(approval.createdAt),
    expires_at: toRfc3339(approval.expiresAt),
  };
}

function toDecision({ id, status, requiredCount, approveCount }: Decided): ApprovalDecision {
  return { id, status, required_count: requiredCount, approve_count: approveCount };
}

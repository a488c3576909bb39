import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError, notFound } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, principalOf } from '../../kernel/call.ts';
import {
  type ApprovalRecord,
  decideApproval,
  insertVote,
  listPending,
  lockApproval,
} from './approvals.store.ts';

export type Vote = 'approve' | 'deny';
export type Decided = Pick<ApprovalRecord, 'id' | 'status' | 'requiredCount' | 'approveCount'>;

export interface ApprovalsService {
  pending(org: OrgScope): Promise<ApprovalRecord[]>;
  vote(call: Call, org: OrgScope, id: string, vote: Vote): Promise<Decided>;
}

export function createApprovalsService({ db }: { readonly db: Database }): ApprovalsService {
  return {
    pending: (org) => db.inOrg(org.id, (tx) => listPending(tx, org.id)),
    vote: (call, org, id, vote) => db.inOrg(org.id, (tx) => castVote(tx, call, org, id, vote)),
  };
}

async function castVote(tx: Tx, call: Call, org: OrgScope, id: string, vote: Vote): Promise<Decided> {
  const { userId } = principalOf(call);
  const approval = await lockApproval(tx, org.id, id);
  if (approval === null) throw notFound();
  if (approval.requesterUserId === userId)
    throw new AppError('forbidden', 'somebody else must decide on your own request');
  if (!(await insertVote(tx, { orgId: org.id, approvalId: id, userId, vote })))
    throw new AppError('already_voted', 'you have voted on this request');
  if (approval.status !== 'pending')
    throw new AppError('approval_closed', `the request is ${approval.status}`);
  const decided = tally(approval, vote);
  if (decided.status !== 'pending') await decideApproval(tx, org.id, id, decided.status);
  await recordEvent(tx, originOf(call), {
    orgId: org.id,
    type: vote === 'approve' ? 'policy.approved' : 'policy.approval_denied',
    resource: { type: 'approval', id },
    details: {
      resource_name: approval.subjectLabel,
      policy_id: approval.policyId,
      policy_type: approval.policyType,
      subject_kind: approval.subjectKind,
      subject_ref: approval.subjectRef,
      requester_kind: approval.requesterKind,
      requester_id: approval.requesterId,
      status: decided.status,
      approve_count: decided.approveCount,
      required_count: decided.requiredCount,
    },
  });
  return decided;
}

function tally(
  approval: ApprovalRecord,
  vote: Vote,
): Decided & { status: 'pending' | 'approved' | 'denied' } {
  const approveCount = approval.approveCount + (vote === 'approve' ? 1 : 0);
  const { id, requiredCount } = approval;
  const reached = approveCount >= requiredCount ? 'approved' : 'pending';
  return { id, requiredCount, approveCount, status: vote === 'deny' ? 'denied' : reached };
}

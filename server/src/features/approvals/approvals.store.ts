import type { Tx } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';

export interface ApprovalRecord {
  readonly id: string;
  readonly orgId: string;
  readonly policyId: string;
  readonly policyType: string;
  readonly requesterKind: string;
  readonly requesterId: string;
  readonly requesterUserId: string;
  readonly subjectKind: string;
  readonly subjectRef: string;
  readonly subjectLabel: string | null;
  readonly note: string | null;
  /** A pending one past its time is expired, whether or not a job has said so. */
  readonly status: 'pending' | 'approved' | 'denied' | 'expired' | 'used';
  readonly requiredCount: number;
  readonly approveCount: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

const columns = sql`
  a.id, a.org_id as "orgId", a.policy_id as "policyId", a.policy_type as "policyType",
  a.requester_kind as "requesterKind", a.requester_id as "requesterId", a.requester_user_id as "requesterUserId",
  a.subject_kind as "subjectKind", a.subject_ref as "subjectRef", a.subject_label as "subjectLabel", a.note,
  case when a.status = 'pending' and a.expires_at <= now() then 'expired' else a.status end as status,
  a.required_count as "requiredCount", a.created_at as "createdAt", a.expires_at as "expiresAt",
  (select count(*) from policy_approval_votes v where v.org_id = a.org_id and v.approval_id = a.id
    and v.vote = 'approve') as "approveCount"`;

export function listPending(tx: Tx, orgId: string): Promise<ApprovalRecord[]> {
  return tx.query(sql`
    select ${columns} from policy_approvals a
    where a.org_id = ${orgId} and a.status = 'pending' and a.expires_at > now() order by a.id limit 1000`);
}

/** Read after it is locked: a statement that waits for the lock would count the votes of before its wait. */
export async function lockApproval(tx: Tx, orgId: string, id: string): Promise<ApprovalRecord | null> {
  await tx.execute(sql`select from policy_approvals where org_id = ${orgId} and id = ${id} for update`);
  return await tx.maybeOne(sql`
    select ${columns} from policy_approvals a where a.org_id = ${orgId} and a.id = ${id}`);
}

/** False when this person has voted already. */
export async function insertVote(
  tx: Tx,
  vote: { orgId: string; approvalId: string; userId: string; vote: 'approve' | 'deny' },
): Promise<boolean> {
  const inserted = await tx.execute(sql`
    insert into policy_approval_votes (org_id, approval_id, voter_user_id, vote)
    values (${vote.orgId}, ${vote.approvalId}, ${vote.userId}, ${vote.vote}) on conflict do nothing`);
  return inserted === 1;
}

/** An approval that was given can be used for a quarter of an hour. */
export async function decideApproval(
  tx: Tx,
  orgId: string,
  id: string,
  status: 'approved' | 'denied',
): Promise<void> {
  await tx.execute(sql`
    update policy_approvals set status = ${status}, decided_at = now(), expires_at = now() + interval '15 minutes'
    where org_id = ${orgId} and id = ${id}`);
}

import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ulid } from '../kernel/ulid.ts';

export interface ApprovalRequest {
  readonly orgId: string;
  readonly policyId: string;
  readonly policyType: string;
  readonly requester: { readonly kind: string; readonly id: string; readonly userId: string };
  readonly entityId: string;
  readonly label: string;
  readonly note: string;
  /** See `approvalOf`. */
  readonly approval: Buffer;
  readonly requiredCount: number;
}

const lifetime = '24 hours';
/** Whoever asks for more at once loses the oldest: nobody can bury the requests of others. */
const maxPending = 20;

/** One that was given and that nobody has used. */
export async function isApproved(tx: Tx, orgId: string, approval: Buffer): Promise<boolean> {
  const row = await tx.maybeOne(sql`
    select 1 from policy_approvals where org_id = ${orgId} and fingerprint = ${approval}
      and status = 'approved' and expires_at > now() limit 1`);
  return row !== null;
}

/** What nobody decided on, or used, in time. */
export async function expireApprovals(tx: Tx): Promise<number> {
  return await tx.execute(sql`
    update policy_approvals set status = 'expired' where status in ('pending', 'approved') and expires_at <= now()`);
}

/** The audit log keeps what was asked and decided. */
export async function forgetOldApprovals(tx: Tx): Promise<number> {
  return await tx.execute(sql`
    delete from policy_approvals
    where created_at < now() - interval '30 days' and status not in ('pending', 'approved')`);
}

/** The pending request for this action: the one there is, or a new one. */
export async function requestApproval(tx: Tx, request: ApprovalRequest): Promise<string> {
  const { orgId, requester, approval } = request;
  await tx.execute(sql`
    update policy_approvals set status = 'expired'
    where org_id = ${orgId} and fingerprint = ${approval} and status = 'pending' and expires_at <= now()`);
  const row = await tx.one<{ id: string }>(sql`
    insert into policy_approvals as a (org_id, id, policy_id, policy_type, requester_kind, requester_id,
      requester_user_id, subject_kind, subject_ref, subject_label, note, fingerprint, required_count, expires_at)
    values (${orgId}, ${ulid()}, ${request.policyId}, ${request.policyType}, ${requester.kind}, ${requester.id},
      ${requester.userId}, 'entity_action', ${request.entityId}, ${request.label}, ${request.note},
      ${approval}, ${request.requiredCount}, now() + ${lifetime}::interval)
    on conflict (org_id, fingerprint) where status = 'pending' and fingerprint is not null
      do update set required_count = greatest(a.required_count, excluded.required_count)
    returning a.id`);
  await tx.execute(sql`
    update policy_approvals set status = 'expired'
    where org_id = ${orgId} and status = 'pending' and requester_id = ${requester.id} and id in (
      select id from policy_approvals
      where org_id = ${orgId} and status = 'pending' and requester_id = ${requester.id}
      order by created_at desc, id desc offset ${maxPending})`);
  return row.id;
}

import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { Job, Room } from './started-work.ts';

/** The claim is lost when the door is to be closed at another time meanwhile. */
export interface CloseJob extends Job {
  readonly claim: string;
}

/**
 * Takes the due jobs for this node: they come due again when the close was not delivered by then, on whichever node.
 * Later and later, but never given up: a door that can not be closed must stay in the log.
 */
export function claimDueCloses(tx: Tx, { jobs, ofOneOrg, fullOrgIds }: Room): Promise<CloseJob[]> {
  return tx.query(sql`
    update close_jobs j set attempts = j.attempts + 1,
      due_at = now() + make_interval(secs => least(60, 6 * (j.attempts + 1)))
    from (
      select org_id, entity_id from close_jobs where due_at <= now() and (org_id, entity_id) in (
        select org_id, entity_id from (
          select org_id, entity_id, row_number() over (partition by org_id order by due_at) as place
          from close_jobs where due_at <= now() and org_id <> all (${fullOrgIds}::text[])
        ) ranked where place <= ${ofOneOrg}
      ) order by due_at limit ${jobs} for update skip locked
    ) due
    where j.org_id = due.org_id and j.entity_id = due.entity_id
    returning j.org_id as "orgId", j.entity_id as "entityId", j.due_at::text as claim`);
}

export async function deleteCloseJob(tx: Tx, { orgId, entityId, claim }: CloseJob): Promise<void> {
  await tx.execute(sql`
    delete from close_jobs where org_id = ${orgId} and entity_id = ${entityId} and due_at = ${claim}::timestamptz`);
}

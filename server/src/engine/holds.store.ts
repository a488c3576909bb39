import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { HoldWindow } from '../policy/open-holds.ts';
import type { Room } from './started-work.ts';

/** An organization whose holds are to be looked at. The claim is lost when they change meanwhile. */
export interface HoldJob {
  readonly orgId: string;
  readonly claim: string;
}

export async function claimDueHoldJobs(tx: Tx, limit: number): Promise<HoldJob[]> {
  return await tx.query<HoldJob>(sql`
    update hold_jobs j set due_at = now() + interval '30 seconds'
    from (
      select org_id from hold_jobs where due_at <= now() order by due_at limit ${limit} for update skip locked
    ) due
    where j.org_id = due.org_id returning j.org_id as "orgId", j.due_at::text as claim`);
}

/** False when something about the holds changed since the claim: then they are looked at again anyway. */
export async function keepClaim(tx: Tx, { orgId, claim }: HoldJob, nextMs: number): Promise<boolean> {
  const kept = await tx.execute(sql`
    update hold_jobs set due_at = to_timestamp(${nextMs / 1000})
    where org_id = ${orgId} and due_at = ${claim}::timestamptz`);
  return kept === 1;
}

export interface HoldPlace {
  readonly entityId: string;
  readonly entityType: string;
  readonly deviceId: string;
}

/** Everything that some hold could keep open. */
export async function listHoldPlaces(tx: Tx, orgId: string): Promise<HoldPlace[]> {
  return await tx.query<HoldPlace>(sql`
    select e.id as "entityId", e.entity_type as "entityType", e.device_id as "deviceId"
    from entities e join devices d on d.org_id = e.org_id and d.id = e.device_id
    join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where e.org_id = ${orgId} and e.entity_type in ('door', 'switch', 'light')
      and e.deleted_at is null and d.deleted_at is null and i.deleted_at is null
      and exists (select from door_holds h
        where h.org_id = e.org_id and h.device_id = e.device_id and h.mode = 'hold_open')`);
}

export type HeldEntity = HoldWindow & { readonly entityId: string };

/**
 * What is no longer held is closed, by the job that closes doors. An open that may be on its way has passed its deadline
 * by then.
 */
export async function releaseOthers(tx: Tx, orgId: string, held: readonly HeldEntity[]): Promise<void> {
  await tx.execute(sql`
    with released as (
      delete from held_open where org_id = ${orgId} and entity_id <> all (${held.map(({ entityId }) => entityId)}::text[])
      returning org_id, entity_id, opened, attempts
    )
    insert into close_jobs (org_id, entity_id, due_at)
    select org_id, entity_id, now() + case when opened then interval '0' else interval '6 seconds' end
    from released where attempts > 0
    on conflict (org_id, entity_id) do update set due_at = excluded.due_at, attempts = 0`);
}

/** A window that is new for an entity is to be opened; the one that is known stays as it is. */
export async function holdThese(tx: Tx, orgId: string, held: readonly HeldEntity[]): Promise<void> {
  await tx.execute(sql`
    insert into held_open as h (org_id, entity_id, hold_id, window_day)
    select ${orgId}, w.entity_id, w.hold_id, w.window_day
    from unnest(${held.map(({ entityId }) => entityId)}::text[], ${held.map(({ holdId }) => holdId)}::text[],
      ${held.map(({ windowDay }) => windowDay)}::int[]) as w (entity_id, hold_id, window_day)
    on conflict (org_id, entity_id) do update
      set hold_id = excluded.hold_id, window_day = excluded.window_day, due_at = now(), attempts = 0, opened = false
      where (h.hold_id, h.window_day) is distinct from (excluded.hold_id, excluded.window_day)`);
}

export async function forgetIdleHoldJob(tx: Tx, orgId: string): Promise<void> {
  await tx.execute(sql`
    delete from hold_jobs j where j.org_id = ${orgId}
      and not exists (select from door_holds h where h.org_id = j.org_id and h.mode = 'hold_open')
      and not exists (select from held_open o where o.org_id = j.org_id)`);
}

export interface DueOpen extends HeldEntity {
  readonly orgId: string;
  readonly attempts: number;
}

/** They come due again while the open provably never left, later and later, on whichever node. */
export async function claimDueOpens(tx: Tx, { jobs, ofOneOrg, fullOrgIds }: Room): Promise<DueOpen[]> {
  return await tx.query<DueOpen>(sql`
    update held_open h set attempts = h.attempts + 1,
      due_at = now() + make_interval(secs => least(60, 6 * (h.attempts + 1)))
    from (
      select org_id, entity_id from held_open where not opened and due_at <= now() and (org_id, entity_id) in (
        select org_id, entity_id from (
          select org_id, entity_id, row_number() over (partition by org_id order by due_at) as place
          from held_open where not opened and due_at <= now() and org_id <> all (${fullOrgIds}::text[])
        ) ranked where place <= ${ofOneOrg}
      ) order by due_at limit ${jobs} for update skip locked
    ) due
    where h.org_id = due.org_id and h.entity_id = due.entity_id
    returning h.org_id as "orgId", h.entity_id as "entityId", h.hold_id as "holdId", h.window_day as "windowDay",
      h.attempts`);
}

/** One open for one window of a hold. */
export function holdKeyOf({ holdId, windowDay, entityId }: HeldEntity): string {
  return `hold:${holdId}:${windowDay}:${entityId}`;
}

/**
 * How far the open of this window is; null when it was never let through, or provably never left. The intent knows it
 * before the row does, and when a lockdown has taken the row away meanwhile.
 */
export async function findWindowProgress(
  tx: Tx,
  orgId: string,
  held: HeldEntity,
): Promise<'under way' | 'settled' | null> {
  const { opened, state } = await tx.one<{ opened: boolean; state: string | null }>(sql`
    select exists (select from held_open where org_id = ${orgId} and entity_id = ${held.entityId} and opened
        and hold_id = ${held.holdId} and window_day = ${held.windowDay}) as opened,
      (select state from intents where org_id = ${orgId} and principal_id = 'system'
        and idempotency_key = ${holdKeyOf(held)}) as state`);
  if (opened) return 'settled';
  if (state === null || state === 'not_sent') return null;
  return state === 'dispatching' ? 'under way' : 'settled';
}

/** With whose rights a hold opens, and whether they confirmed it. */
export async function findHoldSetter(
  tx: Tx,
  orgId: string,
  holdId: string,
): Promise<{ userId: string | null; keyId: string | null; confirmed: boolean } | null> {
  return await tx.maybeOne(sql`
    select created_by as "userId", key_id as "keyId", confirmed from door_holds
    where org_id = ${orgId} and id = ${holdId}`);
}

/** Nothing more is sent for this window. */
export async function markOpened(tx: Tx, { orgId, entityId, holdId, windowDay }: DueOpen): Promise<void> {
  await tx.execute(sql`
    update held_open set opened = true where org_id = ${orgId} and entity_id = ${entityId}
      and hold_id = ${holdId} and window_day = ${windowDay}`);
}

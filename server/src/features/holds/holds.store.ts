import type { Tx } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { Hold, Lockdown } from '../../policy/hold-rules.ts';

/** What a hold is set on: an entity of a device, or the device as a whole. */
export interface HoldTarget {
  readonly deviceId: string;
  readonly entityId: string | null;
  readonly entityType: string | null;
  readonly name: string | null;
}

/** The device is locked: a hold of it and one of its entities never come about at once. */
export function lockEntityTarget(tx: Tx, orgId: string, entityId: string): Promise<HoldTarget | null> {
  return tx.maybeOne<HoldTarget>(sql`
    select d.id as "deviceId", e.id as "entityId", e.entity_type as "entityType", e.name
    from entities e join devices d on d.org_id = e.org_id and d.id = e.device_id
    join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where e.org_id = ${orgId} and e.id = ${entityId}
      and e.deleted_at is null and d.deleted_at is null and i.deleted_at is null
    for no key update of d`);
}

/** Of those who see only some entities: the device of one of them. */
export function lockDeviceTarget(
  tx: Tx,
  orgId: string,
  deviceId: string,
  limitedTo: readonly string[] | null,
): Promise<HoldTarget | null> {
  return tx.maybeOne<HoldTarget>(sql`
    select d.id as "deviceId", null as "entityId", null as "entityType", null as name
    from devices d join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where d.org_id = ${orgId} and d.id = ${deviceId} and d.deleted_at is null and i.deleted_at is null
      and (${limitedTo}::text[] is null or exists (select from entities e
        where e.org_id = d.org_id and e.device_id = d.id and e.id = any (${limitedTo}::text[])))
    for no key update of d`);
}

/** All of the device and its entities whose time is not over. */
export function listHoldsOfDevice(tx: Tx, orgId: string, deviceId: string, now: Date): Promise<Hold[]> {
  return tx.query<Hold>(sql`
    select id, org_id as "orgId", device_id as "deviceId", entity_id as "entityId", mode, kind, until, recurrence,
      reason, include_lights as "includeLights"
    from door_holds where org_id = ${orgId} and device_id = ${deviceId} and (until is null or until > ${now})`);
}

/** True when there was one. */
export async function deleteHold(
  tx: Tx,
  orgId: string,
  { deviceId, entityId }: HoldTarget,
): Promise<boolean> {
  const gone = await tx.execute(sql`
    delete from door_holds
    where org_id = ${orgId} and device_id = ${deviceId} and entity_id is not distinct from ${entityId}`);
  return gone > 0;
}

export async function insertHold(tx: Tx, hold: Hold, createdBy: string): Promise<void> {
  await tx.execute(sql`
    insert into door_holds (org_id, id, device_id, entity_id, mode, kind, until, recurrence, reason, include_lights,
      created_by)
    values (${hold.orgId}, ${hold.id}, ${hold.deviceId}, ${hold.entityId}, ${hold.mode}, ${hold.kind}, ${hold.until},
      ${hold.recurrence === null ? null : JSON.stringify(hold.recurrence)}, ${hold.reason}, ${hold.includeLights},
      ${createdBy})`);
}

export type LockdownRecord = Lockdown & { readonly createdAt: Date };

/** Those in force on a path, from the root down. */
export function listLockdowns(tx: Tx, path: readonly string[], now: Date): Promise<LockdownRecord[]> {
  return tx.query<LockdownRecord>(sql`
    select l.id, l.org_id as "orgId", l.reason, l.until, l.created_at as "createdAt"
    from org_lockdowns l join orgs o on o.id = l.org_id
    where l.org_id = any (${path}) and (l.until is null or l.until > ${now}) order by cardinality(o.path)`);
}

export async function deleteLockdown(tx: Tx, orgId: string): Promise<void> {
  await tx.execute(sql`delete from org_lockdowns where org_id = ${orgId}`);
}

export async function insertLockdown(tx: Tx, lockdown: Lockdown, createdBy: string): Promise<void> {
  await tx.execute(sql`
    insert into org_lockdowns (org_id, id, reason, until, created_by)
    values (${lockdown.orgId}, ${lockdown.id}, ${lockdown.reason}, ${lockdown.until}, ${createdBy})`);
}

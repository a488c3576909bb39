import type { Tx } from '../../db/database.ts';
import { type SqlQuery, sql } from '../../db/sql.ts';
import type { Hold, Lockdown } from '../../policy/hold-rules.ts';

/** What a hold is set on: an entity of a device, or the device as a whole. */
export interface HoldTarget {
  readonly deviceId: string;
  readonly entityId: string | null;
  readonly entityType: string | null;
  readonly name: string | null;
}

/** A confirmation of exactly this request. */
export interface HoldProof {
  readonly tokenHash: Buffer;
  readonly fingerprint: Buffer;
}

/** With whose rights it opens. */
export interface HoldSetter {
  readonly userId: string;
  readonly keyId: string | null;
  readonly confirmed: boolean;
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

/** Of another device that is the same one: what keeps that closed keeps this closed. */
export function findHoldOfHardware(tx: Tx, orgId: string, deviceId: string, now: Date): Promise<Hold | null> {
  return tx.maybeOne<Hold>(sql`
    select h.id, h.org_id as "orgId", h.device_id as "deviceId", h.entity_id as "entityId", h.mode, h.kind, h.until,
      h.recurrence, h.reason, h.include_lights as "includeLights"
    from door_holds h where ${ofHardware(orgId, deviceId)} and (h.until is null or h.until > ${now})
    order by h.id limit 1`);
}

/** Deleted devices too: their holds bind as long as they can be restored. */
function ofHardware(orgId: string, deviceId: string): SqlQuery {
  return sql`h.org_id = ${orgId} and h.entity_id is null and h.mode = 'hold_closed' and h.device_id in (
    select same.id from devices d join devices same on same.org_id = d.org_id and same.hardware_id = d.hardware_id
    where d.org_id = ${orgId} and d.id = ${deviceId})`;
}

/** What can be opened of a device. */
export function listOpenable(
  tx: Tx,
  orgId: string,
  deviceId: string,
): Promise<{ entityId: string; entityType: string }[]> {
  return tx.query(sql`
    select id as "entityId", entity_type as "entityType" from entities
    where org_id = ${orgId} and device_id = ${deviceId} and entity_type in ('door', 'switch', 'light')
      and deleted_at is null
    order by id`);
}

/** The epoch stays as it is until the end of the transaction, apart from what the transaction itself changes. */
export async function lockEpoch(tx: Tx, orgId: string): Promise<number | null> {
  const row = await tx.maybeOne<{ epoch: number }>(sql`
    select epoch from org_epochs where org_id = ${orgId} for update`);
  return row?.epoch ?? null;
}

/** False when there is no such proof: unknown, spent, expired, or of another request. */
export async function spendConfirmation(tx: Tx, orgId: string, proof: HoldProof): Promise<boolean> {
  const spent = await tx.execute(sql`
    delete from confirmations
    where org_id = ${orgId} and token_hash = ${proof.tokenHash} and fingerprint = ${proof.fingerprint}
      and expires_at > now()`);
  return spent === 1;
}

/** Of a device as a whole: also what keeps it closed as another device that is the same one. True when there was one. */
export async function deleteHold(
  tx: Tx,
  orgId: string,
  { deviceId, entityId }: HoldTarget,
): Promise<boolean> {
  const here = sql`
    h.org_id = ${orgId} and h.device_id = ${deviceId} and h.entity_id is not distinct from ${entityId}`;
  const which = entityId === null ? sql`(${here}) or (${ofHardware(orgId, deviceId)})` : here;
  return (await tx.execute(sql`delete from door_holds h where ${which}`)) > 0;
}

export async function insertHold(tx: Tx, hold: Hold, setter: HoldSetter): Promise<void> {
  await tx.execute(sql`
    insert into door_holds (org_id, id, device_id, entity_id, mode, kind, until, recurrence, reason, include_lights,
      created_by, key_id, confirmed)
    values (${hold.orgId}, ${hold.id}, ${hold.deviceId}, ${hold.entityId}, ${hold.mode}, ${hold.kind}, ${hold.until},
      ${hold.recurrence === null ? null : JSON.stringify(hold.recurrence)}, ${hold.reason}, ${hold.includeLights},
      ${setter.userId}, ${setter.keyId}, ${setter.confirmed})`);
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

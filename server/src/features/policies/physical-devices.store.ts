import type { Tx } from '../../db/database.ts';
import { type SqlQuery, sql } from '../../db/sql.ts';
import type { OrgScope } from '../../kernel/call.ts';

/** A device as policies see it: what it is made of may be known as other devices too, here and in organizations above. */
export interface PhysicalDevice {
  /** The device that stands for all that are the same: the first of the topmost organization. */
  readonly id: string;
  readonly hardwareId: string | null;
  /** Those of the organization itself, deleted ones too: their policies bind as long as they can be restored. */
  readonly deviceIds: readonly string[];
  readonly steward: Steward | null;
}

export interface Steward {
  readonly orgId: string;
  readonly userId: string;
}

interface Instance {
  readonly orgId: string;
  readonly id: string;
  readonly deletedAt: Date | null;
  readonly stewardUserId: string | null;
}

export interface DevicePlace {
  readonly integrationId: string;
  readonly deviceId: string;
}

export async function findPhysicalDevice(
  tx: Tx,
  org: OrgScope,
  place: DevicePlace,
): Promise<PhysicalDevice | null> {
  const device = await findDevice(tx, org.id, place);
  if (device === null) return null;
  const instances = await listInstances(tx, org, place.deviceId, device.hardwareId);
  const live = instances
    .filter(({ deletedAt }) => deletedAt === null)
    .sort((one, other) => org.path.indexOf(one.orgId) - org.path.indexOf(other.orgId));
  const stewards = live.flatMap(({ orgId, stewardUserId }) =>
    stewardUserId === null ? [] : [{ orgId, userId: stewardUserId }],
  );
  return {
    id: live[0]?.id ?? place.deviceId,
    hardwareId: device.hardwareId,
    deviceIds: instances.filter(({ orgId }) => orgId === org.id).map(({ id }) => id),
    steward: stewards[0] ?? null,
  };
}

/**
 * Locked with all its instances, so that of two who would become steward one comes first. It is read after that, by a
 * statement of its own: one that waited would still see what was there before.
 */
export async function lockPhysicalDevice(
  tx: Tx,
  org: OrgScope,
  place: DevicePlace,
): Promise<PhysicalDevice | null> {
  const device = await findDevice(tx, org.id, place);
  if (device === null) return null;
  await tx.execute(sql`
    select from devices d where ${sameAs(org, place.deviceId, device.hardwareId)}
    order by d.id for no key update`);
  return await findPhysicalDevice(tx, org, place);
}

function findDevice(
  tx: Tx,
  orgId: string,
  { integrationId, deviceId }: DevicePlace,
): Promise<{ hardwareId: string | null } | null> {
  return tx.maybeOne(sql`
    select d.hardware_id as "hardwareId"
    from devices d join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where d.org_id = ${orgId} and d.id = ${deviceId} and d.integration_id = ${integrationId}
      and d.deleted_at is null and i.deleted_at is null`);
}

/** Not of other branches: nobody there has shown that the hardware is theirs. */
function sameAs(org: OrgScope, deviceId: string, hardwareId: string | null): SqlQuery {
  return hardwareId === null
    ? sql`d.org_id = ${org.id} and d.id = ${deviceId}`
    : sql`d.org_id = any (${org.path}) and d.hardware_id = ${hardwareId}`;
}

function listInstances(
  tx: Tx,
  org: OrgScope,
  deviceId: string,
  hardwareId: string | null,
): Promise<Instance[]> {
  return tx.query<Instance>(sql`
    select d.org_id as "orgId", d.id, d.deleted_at as "deletedAt", s.user_id as "stewardUserId"
    from devices d left join device_stewards s on s.org_id = d.org_id and s.device_id = d.id
    where ${sameAs(org, deviceId, hardwareId)} order by d.id`);
}

export async function claimDevice(tx: Tx, orgId: string, deviceId: string, userId: string): Promise<void> {
  await tx.execute(sql`
    insert into device_stewards (org_id, device_id, user_id) values (${orgId}, ${deviceId}, ${userId})`);
}

/** Whichever of the devices that are the same it was claimed by. */
export async function releaseDevice(
  tx: Tx,
  orgId: string,
  { hardwareId }: PhysicalDevice,
  deviceId: string,
): Promise<void> {
  const same = hardwareId === null ? sql`d.id = ${deviceId}` : sql`d.hardware_id = ${hardwareId}`;
  await tx.execute(sql`
    delete from device_stewards s using devices d
    where s.org_id = ${orgId} and d.org_id = s.org_id and d.id = s.device_id and ${same}`);
}

export async function hardwareOf(tx: Tx, orgId: string, deviceId: string): Promise<string | null> {
  const row = await tx.maybeOne<{ hardwareId: string | null }>(sql`
    select hardware_id as "hardwareId" from devices where org_id = ${orgId} and id = ${deviceId}`);
  return row?.hardwareId ?? null;
}

import type { Tx } from '../../db/database.ts';
import {
  type DeletionOptions,
  everyFilter,
  livenessFilter,
  localizedTextFilter,
} from '../../db/list-filters.ts';
import { type SqlQuery, sql } from '../../db/sql.ts';

export interface Device {
  readonly id: string;
  readonly orgId: string;
  readonly integrationId: string;
  readonly name: Record<string, string>;
  readonly externalId: string | null;
  readonly deviceMetadata: Record<string, unknown>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deletedAt: Date | null;
}

export type DeviceSort = 'name:asc' | 'name:desc' | 'created_at:asc' | 'created_at:desc';

export interface DeviceFilters extends DeletionOptions {
  /** The entities the caller is limited to: only their devices are seen. Null for all. */
  readonly limitedTo: readonly string[] | null;
  readonly integrationId: string | null;
  readonly kind: string | null;
  readonly externalId: string | null;
  readonly hasExternalId: boolean | null;
  readonly hasChannel: boolean | null;
  readonly q: string | null;
}

export interface NewDevice {
  readonly id: string;
  readonly integrationId: string;
  readonly name: Record<string, string>;
  readonly externalId: string | null;
  readonly deviceMetadata: Record<string, unknown>;
  readonly hardwareId: string | null;
}

export interface DevicePage {
  readonly sort: DeviceSort;
  /** Where to look for the name to sort by, most wanted first; never empty. */
  readonly locales: readonly string[];
  readonly limit: number;
  readonly offset: number;
}

const columns = sql`
  d.id, d.org_id as "orgId", d.integration_id as "integrationId", d.name, d.external_id as "externalId",
  d.device_metadata as "deviceMetadata", d.created_at as "createdAt", d.updated_at as "updatedAt",
  d.deleted_at as "deletedAt"`;

export async function listDevices(
  tx: Tx,
  orgId: string,
  filters: DeviceFilters,
  page: DevicePage,
): Promise<{ items: Device[]; total: number }> {
  const where = everyFilter(
    sql`d.org_id = ${orgId}`,
    livenessFilter(sql`d.deleted_at`, filters),
    filters.limitedTo && holdsEntityOf(filters.limitedTo),
    filters.integrationId === null ? null : sql`d.integration_id = ${filters.integrationId}`,
    filters.kind === null ? null : sql`d.device_metadata ->> 'kind' = ${filters.kind}`,
    filters.externalId === null ? null : sql`d.external_id = ${filters.externalId}`,
    filters.hasExternalId === null ? null : sql`(d.external_id is not null) = ${filters.hasExternalId}`,
    filters.hasChannel === null
      ? null
      : sql`(coalesce(d.device_metadata ->> 'channel', '') <> '') = ${filters.hasChannel}`,
    localizedTextFilter(sql`d.name`, filters.q),
  );
  const { total } = await tx.one<{ total: number }>(
    sql`select count(*) as total from devices d where ${where}`,
  );
  const items = await tx.query<Device>(sql`
    select ${columns} from devices d where ${where}
    order by ${orderOf(page)} limit ${page.limit} offset ${page.offset}`);
  return { items, total };
}

export function findDevice(
  tx: Tx,
  orgId: string,
  id: string,
  options: { readonly includeDeleted: boolean; readonly limitedTo: readonly string[] | null },
): Promise<Device | null> {
  const where = everyFilter(
    sql`d.org_id = ${orgId} and d.id = ${id}`,
    livenessFilter(sql`d.deleted_at`, { includeDeleted: options.includeDeleted, onlyDeleted: false }),
    options.limitedTo && holdsEntityOf(options.limitedTo),
  );
  return tx.maybeOne<Device>(sql`select ${columns} from devices d where ${where}`);
}

/** Locked, so that nothing is added to the device while it is changed. */
export function lockDevice(tx: Tx, orgId: string, id: string): Promise<Device | null> {
  return tx.maybeOne<Device>(sql`
    select ${columns} from devices d where d.org_id = ${orgId} and d.id = ${id} for update`);
}

export function insertDevice(tx: Tx, orgId: string, device: NewDevice): Promise<Device> {
  return tx.one<Device>(sql`
    insert into devices as d (org_id, id, integration_id, name, external_id, device_metadata, hardware_id)
    values (${orgId}, ${device.id}, ${device.integrationId}, ${device.name}, ${device.externalId},
      ${device.deviceMetadata}, ${device.hardwareId})
    returning ${columns}`);
}

export function updateDevice(
  tx: Tx,
  orgId: string,
  device: Pick<NewDevice, 'id' | 'name' | 'externalId' | 'deviceMetadata' | 'hardwareId'>,
): Promise<Device> {
  return tx.one<Device>(sql`
    update devices d set name = ${device.name}, external_id = ${device.externalId},
      device_metadata = ${device.deviceMetadata}, hardware_id = ${device.hardwareId}, updated_at = now()
    where d.org_id = ${orgId} and d.id = ${device.id} returning ${columns}`);
}

export function setDeviceDeleted(tx: Tx, orgId: string, id: string, isDeleted: boolean): Promise<Device> {
  return tx.one<Device>(sql`
    update devices d set deleted_at = case when ${isDeleted} then now() end, updated_at = now()
    where d.org_id = ${orgId} and d.id = ${id} returning ${columns}`);
}

export async function purgeDevice(tx: Tx, orgId: string, id: string): Promise<void> {
  await tx.execute(sql`delete from devices where org_id = ${orgId} and id = ${id}`);
}

export async function hasEntities(
  tx: Tx,
  orgId: string,
  deviceId: string,
  which: 'live' | 'all',
): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(sql`
    select exists (
      select from entities e where e.org_id = ${orgId} and e.device_id = ${deviceId}
        and (${which === 'all'} or e.deleted_at is null)) as found`);
  return found;
}

/** The ids of the entities that were live. */
export async function deleteEntities(tx: Tx, orgId: string, deviceId: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    update entities set deleted_at = now(), updated_at = now()
    where org_id = ${orgId} and device_id = ${deviceId} and deleted_at is null returning id`);
  return rows.map(({ id }) => id);
}

/** With what was last seen of them. */
export async function purgeEntities(tx: Tx, orgId: string, deviceId: string): Promise<string[]> {
  await tx.execute(sql`
    delete from entity_states s using entities e
    where s.org_id = ${orgId} and e.org_id = s.org_id and e.id = s.entity_id and e.device_id = ${deviceId}`);
  const rows = await tx.query<{ id: string }>(sql`
    delete from entities where org_id = ${orgId} and device_id = ${deviceId} returning id`);
  return rows.map(({ id }) => id);
}

function holdsEntityOf(entityIds: readonly string[]): SqlQuery {
  return sql`exists (
    select from entities e where e.org_id = d.org_id and e.device_id = d.id and e.id = any (${entityIds}::text[]))`;
}

function orderOf({ sort, locales }: DevicePage): SqlQuery {
  switch (sort) {
    case 'created_at:asc':
      return sql`d.created_at, d.id`;
    case 'created_at:desc':
      return sql`d.created_at desc, d.id desc`;
    case 'name:asc':
      return sql`lower(${nameIn(locales)}), d.created_at, d.id`;
    case 'name:desc':
      return sql`lower(${nameIn(locales)}) desc, d.created_at, d.id`;
  }
}

/** The choice of kernel/text.ts pickText: the wanted locales, a sibling of the language, English, the first by name. */
function nameIn(locales: readonly string[]): SqlQuery {
  const language = locales.at(-1) ?? 'en';
  return sql`(
    select n.value from jsonb_each_text(d.name) n
    order by array_position(${locales}::text[], n.key) nulls last,
      split_part(n.key, '-', 1) <> ${language}, n.key <> 'en', n.key collate "C"
    limit 1)`;
}

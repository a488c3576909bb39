import type { Tx } from './database.ts';
import { type DeletionOptions, everyFilter, livenessFilter } from './list-filters.ts';
import { sql } from './sql.ts';

/**
 * What records hang on. `for share` holds it as it is until the transaction ends: whoever deletes it locks it first and
 * then looks for what hangs on it, so a new record and the end of its parent never miss each other.
 */
export interface IntegrationParent {
  readonly id: string;
  readonly providerType: string;
  readonly isLive: boolean;
}

export function holdIntegration(tx: Tx, orgId: string, id: string): Promise<IntegrationParent | null> {
  return tx.maybeOne<IntegrationParent>(sql`
    select i.id, i.provider_type as "providerType", i.deleted_at is null as "isLive"
    from integrations i where i.org_id = ${orgId} and i.id = ${id} for share`);
}

export interface DeviceParent {
  readonly id: string;
  readonly providerType: string;
  /** The device and its integration. */
  readonly isLive: boolean;
}

export function holdDevice(tx: Tx, orgId: string, id: string): Promise<DeviceParent | null> {
  return tx.maybeOne<DeviceParent>(sql`
    select d.id, i.provider_type as "providerType", d.deleted_at is null and i.deleted_at is null as "isLive"
    from devices d join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where d.org_id = ${orgId} and d.id = ${id} for share`);
}

export interface ZoneParent {
  readonly id: string;
  readonly integrationId: string;
  readonly isLive: boolean;
}

export function holdZone(tx: Tx, orgId: string, id: string): Promise<ZoneParent | null> {
  return tx.maybeOne<ZoneParent>(sql`
    select z.id, z.integration_id as "integrationId", z.deleted_at is null as "isLive"
    from zones z where z.org_id = ${orgId} and z.id = ${id} for share`);
}

/** For lists of what it holds: a deleted one is shown to those who ask for deleted records. */
export async function isIntegrationShown(
  tx: Tx,
  orgId: string,
  id: string,
  options: DeletionOptions,
): Promise<boolean> {
  const live = options.onlyDeleted ? null : livenessFilter(sql`i.deleted_at`, options);
  const where = everyFilter(sql`i.org_id = ${orgId} and i.id = ${id}`, live);
  return (await tx.maybeOne(sql`select i.id from integrations i where ${where}`)) !== null;
}

export async function isDeviceShown(
  tx: Tx,
  orgId: string,
  id: string,
  options: DeletionOptions,
): Promise<boolean> {
  const live = options.onlyDeleted ? null : livenessFilter(sql`d.deleted_at`, options);
  const where = everyFilter(sql`d.org_id = ${orgId} and d.id = ${id}`, live);
  return (await tx.maybeOne(sql`select d.id from devices d where ${where}`)) !== null;
}

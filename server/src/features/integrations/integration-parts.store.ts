// What hangs on an integration: its zones, its devices and their entities.
import type { Tx } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { DiscoveryRule } from '../../providers/provider.ts';

export interface PartCounts {
  readonly zones: number;
  readonly devices: number;
  readonly entities: number;
}

export async function hasParts(
  tx: Tx,
  orgId: string,
  integrationId: string,
  which: 'live' | 'all',
): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(sql`
    select exists (
      select from zones z where z.org_id = ${orgId} and z.integration_id = ${integrationId}
        and (${which === 'all'} or z.deleted_at is null)
    ) or exists (
      select from devices d where d.org_id = ${orgId} and d.integration_id = ${integrationId}
        and (${which === 'all'} or d.deleted_at is null)) as found`);
  return found;
}

/** Those that are live; what was deleted before keeps its own time. */
export async function deleteParts(tx: Tx, orgId: string, integrationId: string): Promise<PartCounts> {
  const entities = await tx.execute(sql`
    update entities e set deleted_at = now(), updated_at = now() from devices d
    where e.org_id = ${orgId} and e.deleted_at is null and d.org_id = e.org_id and d.id = e.device_id
      and d.integration_id = ${integrationId}`);
  const devices = await tx.execute(sql`
    update devices set deleted_at = now(), updated_at = now()
    where org_id = ${orgId} and integration_id = ${integrationId} and deleted_at is null`);
  const zones = await tx.execute(sql`
    update zones set deleted_at = now(), updated_at = now()
    where org_id = ${orgId} and integration_id = ${integrationId} and deleted_at is null`);
  return { zones, devices, entities };
}

/** Entities of other integrations that are in one of the zones are in no zone from now on. */
export async function purgeParts(tx: Tx, orgId: string, integrationId: string): Promise<PartCounts> {
  await tx.execute(sql`
    delete from entity_states s using entities e join devices d on d.org_id = e.org_id and d.id = e.device_id
    where s.org_id = ${orgId} and e.org_id = s.org_id and e.id = s.entity_id
      and d.integration_id = ${integrationId}`);
  const entities = await tx.execute(sql`
    delete from entities e using devices d
    where e.org_id = ${orgId} and d.org_id = e.org_id and d.id = e.device_id
      and d.integration_id = ${integrationId}`);
  const devices = await tx.execute(
    sql`delete from devices where org_id = ${orgId} and integration_id = ${integrationId}`,
  );
  await tx.execute(sql`
    update entities e set zone_id = null from zones z
    where e.org_id = ${orgId} and z.org_id = e.org_id and z.id = e.zone_id and z.integration_id = ${integrationId}`);
  const zones = await tx.execute(
    sql`delete from zones where org_id = ${orgId} and integration_id = ${integrationId}`,
  );
  return { zones, devices, entities };
}

const METADATA = 'device.device_metadata.';

/** The ids by which its live devices or entities stand for something of the provider. */
export async function listAddedIds(
  tx: Tx,
  orgId: string,
  integrationId: string,
  rule: DiscoveryRule,
): Promise<string[]> {
  const id =
    rule === 'device.external_id'
      ? sql`d.external_id`
      : rule === 'entity.external_id'
        ? sql`e.external_id`
        : sql`d.device_metadata ->> ${rule.slice(METADATA.length)}`;
  const rows = await tx.query<{ id: string }>(sql`
    select distinct ${id} as id
    from devices d left join entities e on e.org_id = d.org_id and e.device_id = d.id and e.deleted_at is null
    where d.org_id = ${orgId} and d.integration_id = ${integrationId} and d.deleted_at is null
      and ${id} is not null`);
  return rows.map((row) => row.id);
}

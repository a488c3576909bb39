import type { Tx } from './db/database.ts';
import { sql } from './db/sql.ts';

type Text = Readonly<Record<string, string>>;

export async function insertIntegration(
  tx: Tx,
  orgId: string,
  row: { id: string; providerType: string; name: Text; config: Record<string, unknown> },
): Promise<void> {
  await tx.execute(sql`
    insert into integrations (org_id, id, provider_type, name, config)
    values (${orgId}, ${row.id}, ${row.providerType}, ${row.name}, ${row.config})`);
}

export async function insertZone(
  tx: Tx,
  orgId: string,
  row: { id: string; integrationId: string; parentZoneId: string | null; name: Text },
): Promise<void> {
  await tx.execute(sql`
    insert into zones (org_id, id, integration_id, parent_zone_id, name)
    values (${orgId}, ${row.id}, ${row.integrationId}, ${row.parentZoneId}, ${row.name})`);
}

export async function insertDevice(
  tx: Tx,
  orgId: string,
  row: { id: string; integrationId: string; name: Text },
): Promise<void> {
  await tx.execute(sql`
    insert into devices (org_id, id, integration_id, name) values (${orgId}, ${row.id}, ${row.integrationId}, ${row.name})`);
}

export async function insertEntity(
  tx: Tx,
  orgId: string,
  row: { id: string; deviceId: string; zoneId: string; entityType: string; name: string; externalId: string },
): Promise<void> {
  await tx.execute(sql`
    insert into entities (org_id, id, device_id, zone_id, entity_type, name, external_id)
    values (${orgId}, ${row.id}, ${row.deviceId}, ${row.zoneId}, ${row.entityType}, ${row.name}, ${row.externalId})`);
}

/** External id → entity id, of what is left of the demo building. */
export async function findDemoEntities(
  tx: Tx,
  orgId: string,
  externalIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tx.query<{ externalId: string; id: string }>(sql`
    select distinct on (e.external_id) e.external_id as "externalId", e.id from entities e
    join devices d on d.org_id = e.org_id and d.id = e.device_id
    join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where e.org_id = ${orgId} and e.external_id = any (${externalIds}) and i.provider_type = 'virtual_demo'
      and e.deleted_at is null and d.deleted_at is null and i.deleted_at is null
    order by e.external_id, e.created_at, e.id`);
  return new Map(rows.map((row) => [row.externalId, row.id]));
}

import type { EntityType } from '@lintel/contract/entities';
import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/** A live entity that a portal may be made of, with what was last observed of it. */
export interface LivePart {
  readonly id: string;
  readonly entityType: EntityType;
  readonly providerType: string;
  readonly status: 'open' | 'closed' | 'unknown' | null;
  readonly source: string | null;
  readonly observedAt: Date | null;
}

export function listLiveParts(tx: Tx, orgId: string, ids: readonly string[]): Promise<LivePart[]> {
  return tx.query(sql`
    select e.id, e.entity_type as "entityType", i.provider_type as "providerType", s.status, s.source,
      s.observed_at as "observedAt"
    from entities e
    join devices d on d.org_id = e.org_id and d.id = e.device_id
    join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    left join entity_states s on s.org_id = e.org_id and s.entity_id = e.id
    where e.org_id = ${orgId} and e.id = any (${ids}::text[])
      and e.deleted_at is null and d.deleted_at is null and i.deleted_at is null`);
}

export interface ComposedDevice {
  readonly entityId: string;
  readonly providerType: string;
  readonly deviceMetadata: Record<string, unknown>;
}

/** Of these entities, those whose device is of one of these providers. */
export function listComposedDevices(
  tx: Tx,
  orgId: string,
  entityIds: readonly string[],
  providerTypes: readonly string[],
): Promise<ComposedDevice[]> {
  return tx.query(sql`
    select e.id as "entityId", i.provider_type as "providerType", d.device_metadata as "deviceMetadata"
    from entities e
    join devices d on d.org_id = e.org_id and d.id = e.device_id
    join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where e.org_id = ${orgId} and e.id = any (${entityIds}::text[]) and i.provider_type = any (${providerTypes}::text[])`);
}

/** Of these devices, those that are live and of this provider. */
export async function listLiveDevices(
  tx: Tx,
  orgId: string,
  ids: readonly string[],
  providerType: string,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    select d.id from devices d join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where d.org_id = ${orgId} and d.id = any (${ids}::text[]) and i.provider_type = ${providerType}
      and d.deleted_at is null and i.deleted_at is null`);
  return rows.map((row) => row.id);
}

import type { LocalizedText } from '@lintel/contract/common';
import type { EntityType } from '@lintel/contract/entities';
import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { OrgScope } from '../kernel/call.ts';
import { pickText } from '../kernel/text.ts';

/** An entity with the device and integration it is reached through. */
export interface Target {
  readonly entityId: string;
  readonly entityType: EntityType;
  readonly name: string | null;
  readonly externalId: string | null;
  readonly metadata: Record<string, string>;
  readonly deviceId: string;
  readonly doorName: string;
  readonly deviceExternalId: string | null;
  readonly hardwareId: string | null;
  readonly deviceMetadata: Record<string, unknown>;
  readonly integrationId: string;
  readonly providerType: string;
  readonly enabled: boolean;
  readonly config: Record<string, unknown>;
}

export async function findTarget(tx: Tx, org: OrgScope, entityId: string): Promise<Target | null> {
  const row = await tx.maybeOne<Omit<Target, 'doorName'> & { deviceName: LocalizedText }>(sql`
    select e.id as "entityId", e.entity_type as "entityType", e.name, e.external_id as "externalId", e.metadata,
      d.id as "deviceId", d.name as "deviceName", d.external_id as "deviceExternalId",
      d.hardware_id as "hardwareId", d.device_metadata as "deviceMetadata",
      i.id as "integrationId", i.provider_type as "providerType", i.enabled, i.config
    from entities e
    join devices d on d.org_id = e.org_id and d.id = e.device_id
    join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where e.org_id = ${org.id} and e.id = ${entityId}
      and e.deleted_at is null and d.deleted_at is null and i.deleted_at is null`);
  if (row === null) return null;
  const { deviceName, ...target } = row;
  return { ...target, doorName: pickText(deviceName, org.defaultLocale) };
}

export type Status = 'open' | 'closed' | 'unknown';

export async function findStatus(tx: Tx, orgId: string, entityId: string): Promise<Status> {
  const row = await tx.maybeOne<{ status: Status }>(sql`
    select status from entity_states where org_id = ${orgId} and entity_id = ${entityId}`);
  return row?.status ?? 'unknown';
}

export async function upsertStatus(
  tx: Tx,
  report: { orgId: string; entityId: string; status: Status; source: string },
): Promise<void> {
  await tx.execute(sql`
    insert into entity_states (org_id, entity_id, status, source, observed_at)
    select e.org_id, e.id, ${report.status}, ${report.source}, clock_timestamp()
    from entities e where e.org_id = ${report.orgId} and e.id = ${report.entityId}
    on conflict (org_id, entity_id) do update
      set status = excluded.status, source = excluded.source, observed_at = excluded.observed_at`);
}

import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { EntityBinding } from '../providers/provider.ts';

/** An integration that should have a connection. */
export interface LinkRow {
  readonly orgId: string;
  readonly integrationId: string;
  readonly providerType: string;
  readonly config: Record<string, unknown>;
}

export function listEpochs(tx: Tx): Promise<{ orgId: string; epoch: number }[]> {
  return tx.query(sql`select org_id as "orgId", epoch from org_epochs`);
}

export function listLinks(tx: Tx, orgId: string): Promise<LinkRow[]> {
  return tx.query(sql`
    select i.org_id as "orgId", i.id as "integrationId", i.provider_type as "providerType", i.config
    from integrations i join orgs o on o.id = i.org_id
    where i.org_id = ${orgId} and i.enabled and i.deleted_at is null and o.deleted_at is null`);
}

export function listBindings(tx: Tx, orgId: string): Promise<(EntityBinding & { integrationId: string })[]> {
  return tx.query(sql`
    select d.integration_id as "integrationId", e.id as "entityId", e.entity_type as "entityType",
      e.external_id as "externalId", e.metadata, d.id as "deviceId", d.external_id as "deviceExternalId",
      d.device_metadata as "deviceMetadata"
    from entities e join devices d on d.org_id = e.org_id and d.id = e.device_id
    where e.org_id = ${orgId} and e.deleted_at is null and d.deleted_at is null order by e.id`);
}

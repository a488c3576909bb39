import type { Tx } from '../../db/database.ts';
import {
  type DeletionOptions,
  everyFilter,
  livenessFilter,
  localizedTextFilter,
} from '../../db/list-filters.ts';
import { type SqlQuery, sql } from '../../db/sql.ts';

export interface Integration {
  readonly id: string;
  readonly orgId: string;
  readonly providerType: string;
  readonly name: Record<string, string>;
  readonly enabled: boolean;
  readonly config: Record<string, unknown>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deletedAt: Date | null;
}

export interface IntegrationFilters extends DeletionOptions {
  /** The entities the caller is limited to: only their integrations are seen. Null for all. */
  readonly limitedTo: readonly string[] | null;
  readonly providerType: string | null;
  readonly q: string | null;
}

const columns = sql`
  i.id, i.org_id as "orgId", i.provider_type as "providerType", i.name, i.enabled, i.config,
  i.created_at as "createdAt", i.updated_at as "updatedAt", i.deleted_at as "deletedAt"`;

export async function listIntegrations(
  tx: Tx,
  orgId: string,
  filters: IntegrationFilters,
  page: { limit: number; offset: number },
): Promise<{ items: Integration[]; total: number }> {
  const where = everyFilter(
    sql`i.org_id = ${orgId}`,
    livenessFilter(sql`i.deleted_at`, filters),
    filters.limitedTo && holdsEntityOf(filters.limitedTo),
    filters.providerType === null ? null : sql`i.provider_type = ${filters.providerType}`,
    localizedTextFilter(sql`i.name`, filters.q),
  );
  const { total } = await tx.one<{ total: number }>(
    sql`select count(*) as total from integrations i where ${where}`,
  );
  const items = await tx.query<Integration>(sql`
    select ${columns} from integrations i where ${where}
    order by i.created_at, i.id limit ${page.limit} offset ${page.offset}`);
  return { items, total };
}

export function findIntegration(
  tx: Tx,
  orgId: string,
  id: string,
  options: { readonly includeDeleted: boolean; readonly limitedTo: readonly string[] | null },
): Promise<Integration | null> {
  const where = everyFilter(
    sql`i.org_id = ${orgId} and i.id = ${id}`,
    livenessFilter(sql`i.deleted_at`, { includeDeleted: options.includeDeleted, onlyDeleted: false }),
    options.limitedTo && holdsEntityOf(options.limitedTo),
  );
  return tx.maybeOne<Integration>(sql`select ${columns} from integrations i where ${where}`);
}

/** Locked, so that nothing is hung on it while it is changed. */
export function lockIntegration(tx: Tx, orgId: string, id: string): Promise<Integration | null> {
  return tx.maybeOne<Integration>(sql`
    select ${columns} from integrations i where i.org_id = ${orgId} and i.id = ${id} for update`);
}

export type NewIntegration = Pick<Integration, 'id' | 'providerType' | 'name' | 'enabled' | 'config'>;

export function insertIntegration(tx: Tx, orgId: string, fields: NewIntegration): Promise<Integration> {
  return tx.one<Integration>(sql`
    insert into integrations as i (org_id, id, provider_type, name, enabled, config)
    values (${orgId}, ${fields.id}, ${fields.providerType}, ${fields.name}, ${fields.enabled}, ${fields.config})
    returning ${columns}`);
}

/** Also bumps the organization's epoch, by which connections notice that secrets changed. */
export function updateIntegration(
  tx: Tx,
  orgId: string,
  fields: Pick<Integration, 'id' | 'name' | 'enabled' | 'config'>,
): Promise<Integration> {
  return tx.one<Integration>(sql`
    update integrations i set name = ${fields.name}, enabled = ${fields.enabled}, config = ${fields.config},
      updated_at = now()
    where i.org_id = ${orgId} and i.id = ${fields.id} returning ${columns}`);
}

export function setIntegrationDeleted(
  tx: Tx,
  orgId: string,
  id: string,
  isDeleted: boolean,
): Promise<Integration> {
  return tx.one<Integration>(sql`
    update integrations i set deleted_at = case when ${isDeleted} then now() end, updated_at = now()
    where i.org_id = ${orgId} and i.id = ${id} returning ${columns}`);
}

export async function purgeIntegration(tx: Tx, orgId: string, id: string): Promise<void> {
  await tx.execute(sql`delete from integrations where org_id = ${orgId} and id = ${id}`);
}

function holdsEntityOf(entityIds: readonly string[]): SqlQuery {
  return sql`exists (
    select from devices d join entities e on e.org_id = d.org_id and e.device_id = d.id
    where d.org_id = i.org_id and d.integration_id = i.id and e.id = any (${entityIds}::text[]))`;
}

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

function holdsEntityOf(entityIds: readonly string[]): SqlQuery {
  return sql`exists (
    select from devices d join entities e on e.org_id = d.org_id and e.device_id = d.id
    where d.org_id = i.org_id and d.integration_id = i.id and e.id = any (${entityIds}::text[]))`;
}

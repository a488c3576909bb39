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
  readonly q: string | null;
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

import type { EntityType } from '@lintel/contract/entities';
import type { Tx } from '../../db/database.ts';
import { type DeletionOptions, everyFilter, livenessFilter, textFilter } from '../../db/list-filters.ts';
import { type SqlQuery, sql } from '../../db/sql.ts';
import type { PortalView } from './portal-entities.ts';

export interface Entity {
  readonly id: string;
  readonly deviceId: string;
  readonly zoneId: string | null;
  readonly entityType: EntityType;
  readonly name: string | null;
  readonly externalId: string | null;
  readonly metadata: Record<string, string>;
  readonly status: 'open' | 'closed' | 'unknown' | null;
  readonly stateSource: string | null;
  readonly observedAt: Date | null;
  /** Of an entity whose device is made of others; not of the table. */
  readonly portal?: PortalView;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deletedAt: Date | null;
}

export type EntitySort = 'name:asc' | 'name:desc' | 'created_at:asc' | 'created_at:desc';

export interface EntityFilters extends DeletionOptions {
  /** The entities the caller is limited to; null for all. */
  readonly limitedTo: readonly string[] | null;
  readonly zoneId: string | null;
  readonly deviceId?: string;
  readonly integrationId?: string;
  readonly entityTypes: readonly EntityType[] | null;
  readonly q: string | null;
}

export interface EntityPage {
  readonly sort: EntitySort;
  readonly limit: number;
  readonly offset: number;
}

const columns = sql`
  e.id, e.device_id as "deviceId", e.zone_id as "zoneId", e.entity_type as "entityType", e.name,
  e.external_id as "externalId", e.metadata, s.status, s.source as "stateSource", s.observed_at as "observedAt",
  e.created_at as "createdAt", e.updated_at as "updatedAt", e.deleted_at as "deletedAt"`;
const source = sql`entities e left join entity_states s on s.org_id = e.org_id and s.entity_id = e.id`;

const orders: Record<EntitySort, SqlQuery> = {
  'created_at:asc': sql`e.created_at, e.id`,
  'created_at:desc': sql`e.created_at desc, e.id desc`,
  'name:asc': sql`lower(e.name) nulls last, e.created_at, e.id`,
  'name:desc': sql`lower(e.name) desc nulls last, e.created_at, e.id`,
};

export async function listEntities(
  tx: Tx,
  orgId: string,
  filters: EntityFilters,
  page: EntityPage,
): Promise<{ items: Entity[]; total: number }> {
  const where = everyFilter(
    sql`e.org_id = ${orgId}`,
    livenessFilter(sql`e.deleted_at`, filters),
    filters.limitedTo && sql`e.id = any (${filters.limitedTo}::text[])`,
    filters.zoneId === null ? null : sql`e.zone_id = ${filters.zoneId}`,
    filters.deviceId === undefined ? null : sql`e.device_id = ${filters.deviceId}`,
    filters.integrationId === undefined ? null : isOfIntegration(filters.integrationId),
    filters.entityTypes && sql`e.entity_type = any (${filters.entityTypes}::text[])`,
    textFilter(sql`e.name`, filters.q),
  );
  const { total } = await tx.one<{ total: number }>(
    sql`select count(*) as total from entities e where ${where}`,
  );
  const items = await tx.query<Entity>(sql`
    select ${columns} from ${source} where ${where}
    order by ${orders[page.sort]} limit ${page.limit} offset ${page.offset}`);
  return { items, total };
}

function isOfIntegration(integrationId: string): SqlQuery {
  return sql`exists (
    select from devices d where d.org_id = e.org_id and d.id = e.device_id and d.integration_id = ${integrationId})`;
}

export function findEntity(
  tx: Tx,
  orgId: string,
  id: string,
  includeDeleted: boolean,
): Promise<Entity | null> {
  const live = livenessFilter(sql`e.deleted_at`, { includeDeleted, onlyDeleted: false });
  const where = everyFilter(sql`e.org_id = ${orgId} and e.id = ${id}`, live);
  return tx.maybeOne<Entity>(sql`select ${columns} from ${source} where ${where}`);
}

export type EntityFields = Pick<
  Entity,
  'id' | 'deviceId' | 'zoneId' | 'entityType' | 'name' | 'externalId' | 'metadata'
>;

/** The device of an entity never changes, so it can be read, and held, before the entity is locked. */
export async function deviceIdOf(tx: Tx, orgId: string, id: string): Promise<string | null> {
  const row = await tx.maybeOne<{ deviceId: string }>(sql`
    select device_id as "deviceId" from entities where org_id = ${orgId} and id = ${id}`);
  return row?.deviceId ?? null;
}

export function lockEntity(tx: Tx, orgId: string, id: string): Promise<Entity | null> {
  return tx.maybeOne<Entity>(sql`
    select ${columns} from ${source} where e.org_id = ${orgId} and e.id = ${id} for update of e`);
}

export async function insertEntity(tx: Tx, orgId: string, entity: EntityFields): Promise<void> {
  await tx.execute(sql`
    insert into entities (org_id, id, device_id, zone_id, entity_type, name, external_id, metadata)
    values (${orgId}, ${entity.id}, ${entity.deviceId}, ${entity.zoneId}, ${entity.entityType}, ${entity.name},
      ${entity.externalId}, ${entity.metadata})`);
}

export async function updateEntity(tx: Tx, orgId: string, entity: EntityFields): Promise<void> {
  await tx.execute(sql`
    update entities set zone_id = ${entity.zoneId}, entity_type = ${entity.entityType}, name = ${entity.name},
      external_id = ${entity.externalId}, metadata = ${entity.metadata}, updated_at = now()
    where org_id = ${orgId} and id = ${entity.id}`);
}

export async function setEntityDeleted(tx: Tx, orgId: string, id: string, isDeleted: boolean): Promise<void> {
  await tx.execute(sql`
    update entities set deleted_at = case when ${isDeleted} then now() end, updated_at = now()
    where org_id = ${orgId} and id = ${id}`);
}

export async function purgeEntity(tx: Tx, orgId: string, id: string): Promise<void> {
  await tx.execute(sql`delete from entity_states where org_id = ${orgId} and entity_id = ${id}`);
  await tx.execute(sql`delete from entities where org_id = ${orgId} and id = ${id}`);
}

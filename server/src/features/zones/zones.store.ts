import type { Tx } from '../../db/database.ts';
import { type DeletionOptions, everyFilter, livenessFilter } from '../../db/list-filters.ts';
import { type SqlQuery, sql } from '../../db/sql.ts';

export interface Zone {
  readonly id: string;
  readonly orgId: string;
  readonly integrationId: string;
  readonly parentZoneId: string | null;
  readonly name: Record<string, string>;
  readonly externalId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deletedAt: Date | null;
}

export type NewZone = Pick<Zone, 'id' | 'integrationId' | 'parentZoneId' | 'name' | 'externalId'>;

export interface ZoneFilters extends DeletionOptions {
  /** The entities the caller is limited to: only the zones they are in are seen. Null for all. */
  readonly limitedTo: readonly string[] | null;
  readonly integrationId: string;
}

const columns = sql`
  z.id, z.org_id as "orgId", z.integration_id as "integrationId", z.parent_zone_id as "parentZoneId", z.name,
  z.external_id as "externalId", z.created_at as "createdAt", z.updated_at as "updatedAt",
  z.deleted_at as "deletedAt"`;

function holdsEntityOf(entityIds: readonly string[]): SqlQuery {
  return sql`exists (
    select from entities e where e.org_id = z.org_id and e.zone_id = z.id and e.id = any (${entityIds}::text[]))`;
}

export async function listZones(
  tx: Tx,
  orgId: string,
  filters: ZoneFilters,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ items: Zone[]; total: number }> {
  const where = everyFilter(
    sql`z.org_id = ${orgId} and z.integration_id = ${filters.integrationId}`,
    livenessFilter(sql`z.deleted_at`, filters),
    filters.limitedTo && holdsEntityOf(filters.limitedTo),
  );
  const { total } = await tx.one<{ total: number }>(
    sql`select count(*) as total from zones z where ${where}`,
  );
  const items = await tx.query<Zone>(sql`
    select ${columns} from zones z where ${where}
    order by z.created_at, z.id limit ${page.limit} offset ${page.offset}`);
  return { items, total };
}

export function findZone(
  tx: Tx,
  orgId: string,
  id: string,
  options: { readonly includeDeleted: boolean; readonly limitedTo: readonly string[] | null },
): Promise<Zone | null> {
  const where = everyFilter(
    sql`z.org_id = ${orgId} and z.id = ${id}`,
    livenessFilter(sql`z.deleted_at`, { includeDeleted: options.includeDeleted, onlyDeleted: false }),
    options.limitedTo && holdsEntityOf(options.limitedTo),
  );
  return tx.maybeOne<Zone>(sql`select ${columns} from zones z where ${where}`);
}

/** With its integration: moves inside one come one after the other, or two of them could make a circle together. */
export async function lockZone(tx: Tx, orgId: string, id: string): Promise<Zone | null> {
  await tx.execute(sql`
    select from integrations i join zones z on z.org_id = i.org_id and z.integration_id = i.id
    where z.org_id = ${orgId} and z.id = ${id} for no key update of i`);
  return tx.maybeOne<Zone>(sql`
    select ${columns} from zones z where z.org_id = ${orgId} and z.id = ${id} for update`);
}

export function insertZone(tx: Tx, orgId: string, zone: NewZone): Promise<Zone> {
  return tx.one<Zone>(sql`
    insert into zones as z (org_id, id, integration_id, parent_zone_id, name, external_id)
    values (${orgId}, ${zone.id}, ${zone.integrationId}, ${zone.parentZoneId}, ${zone.name}, ${zone.externalId})
    returning ${columns}`);
}

export function updateZone(
  tx: Tx,
  orgId: string,
  zone: Pick<Zone, 'id' | 'name' | 'parentZoneId' | 'externalId'>,
): Promise<Zone> {
  return tx.one<Zone>(sql`
    update zones z set name = ${zone.name}, parent_zone_id = ${zone.parentZoneId}, external_id = ${zone.externalId},
      updated_at = now()
    where z.org_id = ${orgId} and z.id = ${zone.id} returning ${columns}`);
}

export function setZoneDeleted(tx: Tx, orgId: string, id: string, isDeleted: boolean): Promise<Zone> {
  return tx.one<Zone>(sql`
    update zones z set deleted_at = case when ${isDeleted} then now() end, updated_at = now()
    where z.org_id = ${orgId} and z.id = ${id} returning ${columns}`);
}

/** Whether a zone is the other one or somewhere below it. */
export async function isWithin(tx: Tx, orgId: string, id: string, otherId: string): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(sql`
    with recursive above as (
      select z.id, z.parent_zone_id from zones z where z.org_id = ${orgId} and z.id = ${id}
      union
      select p.id, p.parent_zone_id from zones p join above a on p.id = a.parent_zone_id where p.org_id = ${orgId}
    )
    select exists (select from above where above.id = ${otherId}) as found`);
  return found;
}

export async function hasLiveParts(tx: Tx, orgId: string, id: string): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(sql`
    select exists (
      select from zones z where z.org_id = ${orgId} and z.parent_zone_id = ${id} and z.deleted_at is null
    ) or exists (
      select from entities e where e.org_id = ${orgId} and e.zone_id = ${id} and e.deleted_at is null) as found`);
  return found;
}

/** What was deleted before and still refers to it is in no zone from now on. */
export async function purgeZone(tx: Tx, orgId: string, id: string): Promise<void> {
  await tx.execute(sql`update entities set zone_id = null where org_id = ${orgId} and zone_id = ${id}`);
  await tx.execute(
    sql`update zones set parent_zone_id = null where org_id = ${orgId} and parent_zone_id = ${id}`,
  );
  await tx.execute(sql`delete from zones where org_id = ${orgId} and id = ${id}`);
}

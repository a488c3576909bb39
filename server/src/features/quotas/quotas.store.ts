import type { QuotaKey, QuotaPeriod } from '@lintel/contract/quotas';
import type { Tx } from '../../db/database.ts';
import { everyFilter } from '../../db/list-filters.ts';
import { sql } from '../../db/sql.ts';

export interface Override {
  readonly orgId: string;
  readonly id: string;
  readonly key: QuotaKey;
  readonly period: QuotaPeriod;
  readonly value: number | null;
  readonly reason: string | null;
  readonly expiresAt: Date | null;
  readonly createdByUserId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const columns = sql`
  v.org_id as "orgId", v.id, v.quota_key as key, v.period, v.limit_value as value, v.reason,
  v.expires_at as "expiresAt", v.created_by_user_id as "createdByUserId", v.created_at as "createdAt",
  v.updated_at as "updatedAt"`;

export type NewOverride = Omit<Override, 'createdAt' | 'updatedAt'>;

/** A limit that stands keeps its id and its beginning. */
export function upsertOverride(tx: Tx, override: NewOverride): Promise<Override> {
  const { orgId, id, key, period, value, reason, expiresAt, createdByUserId } = override;
  return tx.one<Override>(sql`
    insert into quota_overrides as v
      (org_id, id, quota_key, period, limit_value, reason, expires_at, created_by_user_id)
    values (${orgId}, ${id}, ${key}, ${period}, ${value}, ${reason}, ${expiresAt}, ${createdByUserId})
    on conflict (org_id, quota_key, period) do update set limit_value = excluded.limit_value,
      reason = excluded.reason, expires_at = excluded.expires_at, updated_at = now()
    returning ${columns}`);
}

export function deleteOverride(tx: Tx, id: string): Promise<Override | null> {
  return tx.maybeOne<Override>(sql`delete from quota_overrides v where v.id = ${id} returning ${columns}`);
}

export interface OverrideFilters {
  readonly orgId: string | null;
  readonly key: QuotaKey | null;
}

export async function listOverrides(
  tx: Tx,
  filters: OverrideFilters,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ items: Override[]; total: number }> {
  const where = everyFilter(
    sql`true`,
    filters.orgId === null ? null : sql`v.org_id = ${filters.orgId}`,
    filters.key === null ? null : sql`v.quota_key = ${filters.key}`,
  );
  const { total } = await tx.one<{ total: number }>(
    sql`select count(*) as total from quota_overrides v where ${where}`,
  );
  const items = await tx.query<Override>(sql`
    select ${columns} from quota_overrides v where ${where}
    order by v.created_at, v.id limit ${page.limit} offset ${page.offset}`);
  return { items, total };
}

/** Held until the end, so that it is not purged before its limit is in. */
export async function holdOrg(tx: Tx, id: string): Promise<boolean> {
  return (await tx.maybeOne(sql`select o.id from orgs o where o.id = ${id} for key share`)) !== null;
}

export async function tierOf(tx: Tx, orgId: string): Promise<string | null> {
  const row = await tx.maybeOne<{ slug: string | null }>(sql`
    select coalesce(o.tier_slug, (select t.slug from quota_tiers t where t.is_default)) as slug
    from orgs o where o.id = ${orgId}`);
  return row?.slug ?? null;
}

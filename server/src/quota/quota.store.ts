import type { QuotaKey, QuotaPeriod } from '@lintel/contract/quotas';
import type { Tx } from '../db/database.ts';
import { type SqlQuery, sql } from '../db/sql.ts';

export interface QuotaName {
  readonly key: QuotaKey;
  readonly period: QuotaPeriod;
}

export interface EffectiveLimit extends QuotaName {
  /** Null: unlimited. */
  readonly value: number | null;
  readonly source: 'override' | 'tier' | 'default';
  /** The id of the override or the slug of the tier. */
  readonly ref: string | null;
  /** When an override ends and another limit holds. */
  readonly expiresAt: Date | null;
}

/** In the order asked for. Which limit holds is decided in one place: quota_limit() of migrations/0012. */
export function readLimits(tx: Tx, orgId: string, names: readonly QuotaName[]): Promise<EffectiveLimit[]> {
  return tx.query<EffectiveLimit>(sql`
    select n.key, n.period, l.value, l.source, l.ref, l.expires_at as "expiresAt"
    from ${named(names)} cross join lateral quota_limit(${orgId}, n.key, n.period) l order by n.place`);
}

export interface Usage extends QuotaName {
  readonly current: number;
}

/** In the order asked for: what is there, or what was counted in the running period. A session has no total. */
export function readUsage(tx: Tx, orgId: string, names: readonly QuotaName[]): Promise<Usage[]> {
  return tx.query<Usage>(sql`
    select n.key, n.period, case n.period
      when 'lifetime' then capacity_used(${orgId}, n.key)
      when 'per_session' then 0
      else usage_counted(${orgId}, n.key, n.period) end as current
    from ${named(names)} order by n.place`);
}

/** Counts one use, or throws quota_exceeded. */
export async function countUse(
  tx: Tx,
  orgId: string,
  key: QuotaKey,
  periods: readonly QuotaPeriod[],
  stripe: number,
): Promise<void> {
  await tx.execute(sql`select meter_usage(${orgId}, ${key}, ${periods}, ${stripe}::int)`);
}

function named(names: readonly QuotaName[]): SqlQuery {
  return sql`unnest(${names.map(({ key }) => key)}::text[], ${names.map(({ period }) => period)}::text[])
    with ordinality as n (key, period, place)`;
}

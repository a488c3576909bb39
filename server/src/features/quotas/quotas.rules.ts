import {
  periodsOf,
  type QuotaKey,
  type QuotaPeriod,
  type QuotaUnit,
  quotaKeys,
  quotaTable,
} from '@lintel/contract/quotas';
import { invalid } from '../../kernel/app-error.ts';
import type { EffectiveLimit, QuotaName } from '../../quota/quota.store.ts';
import { delayMs, longestMs } from '../../quota/slowdown.rules.ts';

/** Every key in every period it is limited in, in the order of the table. */
export const everyQuota: readonly QuotaName[] = quotaKeys.flatMap((key) =>
  periodsOf(key).map((period) => ({ key, period })),
);

/** The period an override is for; a key with a single one needs none named. */
export function requirePeriod(key: QuotaKey, period: QuotaPeriod | null): QuotaPeriod {
  const periods = periodsOf(key);
  const [only] = periods;
  if (period === null && periods.length === 1 && only !== undefined) return only;
  if (period !== null && periods.includes(period)) return period;
  throw invalid('/period', `must be ${periods.join(' or ')} for ${key}`);
}

export interface PeriodWindow {
  readonly label: string;
  readonly start: Date | null;
  readonly end: Date | null;
}

/** The window that is running, in the UTC calendar; weeks begin on Monday, as in ISO 8601. */
export function windowOf(period: QuotaPeriod, now: Date): PeriodWindow {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const monday = day - ((now.getUTCDay() + 6) % 7);
  switch (period) {
    case 'day':
      return between('day', utc(year, month, day), utc(year, month, day + 1), 10);
    case 'week':
      return between('week', utc(year, month, monday), utc(year, month, monday + 7), 10);
    case 'month':
      return between('month', utc(year, month, 1), utc(year, month + 1, 1), 7);
    case 'lifetime':
    case 'per_session':
      return { label: period, start: null, end: null };
  }
}

function between(name: string, start: Date, end: Date, digits: number): PeriodWindow {
  return { label: `${name}:${start.toISOString().slice(0, digits)}`, start, end };
}

function utc(year: number, month: number, day: number): Date {
  return new Date(Date.UTC(year, month, day));
}

export interface Standing {
  readonly limit: EffectiveLimit;
  readonly current: number;
}

export interface Overage {
  readonly key: QuotaKey;
  readonly unit: QuotaUnit;
  readonly current: number;
  readonly limit: number;
  readonly excess: number;
}

export interface Degradation {
  readonly stage: 'none' | 'warned' | 'degraded';
  /** 0 to 1: the wait of the next open, as a part of the longest. */
  readonly level: number;
  readonly overages: readonly Overage[];
}

const nearlyFull = 0.9;

/** What the limits mean at this moment. Nothing is ever deleted for a limit, so no stage goes further. */
export function degradationOf(standings: readonly Standing[]): Degradation {
  const bounded = standings.flatMap(({ limit, current }) =>
    limit.value === null ? [] : [{ key: limit.key, value: limit.value, current }],
  );
  const slowed = bounded.filter(({ key }) => quotaTable[key].effect === 'slowed');
  const wait = Math.max(0, ...slowed.map(({ current, value }) => delayMs(current + 1, value)));
  const overages = bounded
    .filter(({ current, value }) => current > value)
    .map(({ key, current, value }) => ({
      key,
      unit: quotaTable[key].unit,
      current,
      limit: value,
      excess: current - value,
    }));
  const isNear = bounded.some(({ current, value }) => current > 0 && current >= value * nearlyFull);
  const warned = overages.length > 0 || isNear ? 'warned' : 'none';
  return { stage: wait > 0 ? 'degraded' : warned, level: wait / longestMs, overages };
}

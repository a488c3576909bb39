import type { EffectiveLimit, QuotaName } from './quota.store.ts';

export const shortestMs = 1_000;
export const longestMs = 5_000;

/** One more use than a limit allows, and how long it waits for that. */
export interface Slowdown extends QuotaName {
  /** With the use that waits. */
  readonly current: number;
  readonly limit: number;
  readonly delayMs: number;
}

/** Nothing up to the limit; then a second, growing to five at twice the limit. */
export function delayMs(current: number, limit: number): number {
  const excess = current - limit;
  if (excess <= 0) return 0;
  const growth = ((longestMs - shortestMs) * (excess - 1)) / Math.max(limit, 1);
  return Math.min(longestMs, Math.round(shortestMs + growth));
}

/** The longest wait that the limits ask for; null when they ask for none. */
export function slowdownOf(
  limits: readonly EffectiveLimit[],
  currentOf: (name: QuotaName) => number,
): Slowdown | null {
  let worst: Slowdown | null = null;
  for (const { key, period, value } of limits) {
    if (value === null) continue;
    const current = currentOf({ key, period });
    const delay = delayMs(current, value);
    if (delay > (worst?.delayMs ?? 0)) worst = { key, period, current, limit: value, delayMs: delay };
  }
  return worst;
}

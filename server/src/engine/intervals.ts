import type { Tx } from '../db/database.ts';
import { AppError } from '../kernel/app-error.ts';
import { readyInMs } from './intents.store.ts';
import type { PreparedAction } from './prepare-action.ts';

/** The interval that keeps an action waiting, and for how long still. */
export interface Readiness {
  readonly minIntervalMs: number;
  readonly waitMs: number;
}

/** A portal is ready when it is itself, and the first of what it opens through. T1 looks again, and reserves. */
export async function readinessOf(
  tx: Tx,
  { org, target, minIntervalMs, openers }: PreparedAction,
): Promise<Readiness> {
  const waitFor = async (place: { integrationId: string; minIntervalMs: number }): Promise<Readiness> => ({
    minIntervalMs: place.minIntervalMs,
    waitMs: await readyInMs(tx, org.id, place.integrationId, place.minIntervalMs),
  });
  const own = await waitFor({ integrationId: target.integrationId, minIntervalMs });
  const through: Readiness[] = [];
  for (const opener of openers) through.push(await waitFor(opener));
  const first = through.toSorted(shorterFirst)[0] ?? own;
  return shorterFirst(own, first) < 0 ? first : own;
}

const shorterFirst = (a: Readiness, b: Readiness): number =>
  a.waitMs - b.waitMs || a.minIntervalMs - b.minIntervalMs;

export function tooSoon(waitMs: number): AppError {
  return new AppError('provider_open_rate_limited', `ready again in ${waitMs} ms`, {
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  });
}

import { type Clock, hasStoodStill, systemClock } from '../../kernel/clock.ts';
import { backoffMs } from './backoff.ts';

export interface Pacing {
  /** The wait of an attempt that should come after `wantedMs`: at least that, and longer when many want the same moment. */
  placeMs(wantedMs: number): number;
  /** The further wait of an attempt whose moment has come; null when it is in time. */
  placeAgainMs(dueMs: number): number | null;
}

/**
 * At most five in a hundred may be in one second, wherever it begins. It touches five slots, and six when the process
 * stood still for a moment before it and is late with those of the slot before.
 */
const slotMs = 250;
const shareOfSlot = 0.05 / 6;
/** A few links are not held up. */
const leastInSlot = 2;

/**
 * Spreads the attempts of all links of a process. Back-off alone does not: a thousand links that lost their broker
 * together would come back within the few seconds of its jitter. The more of them wait, the longer the stretch.
 */
export function createPacing({ monotonicMs }: Pick<Clock, 'monotonicMs'>): Pacing {
  const taken = new Map<number, number>();
  const forgetPast = (slot: number): void => {
    for (const past of taken.keys()) if (past < slot) taken.delete(past);
  };
  const placeMs = (wantedMs: number): number => {
    const now = monotonicMs();
    forgetPast(Math.floor(now / slotMs));
    const ahead = [...taken.values()].reduce((sum, count) => sum + count, 0);
    const perSlot = Math.max(leastInSlot, ahead * shareOfSlot);
    const first = Math.floor((now + wantedMs) / slotMs);
    let slot = first;
    while ((taken.get(slot) ?? 0) >= roomIn(slot, perSlot)) slot += 1;
    const before = taken.get(slot) ?? 0;
    taken.set(slot, before + 1);
    return slot === first ? wantedMs : (slot + before / roomIn(slot, perSlot)) * slotMs - now;
  };
  return {
    placeMs,
    // A process that stood still for seconds finds all attempts of that time due at once.
    placeAgainMs: (dueMs) => (hasStoodStill(dueMs, monotonicMs()) ? placeMs(0) : null),
  };
}

/**
 * A whole number, and any five slots in a row have room for 5 × `perSlot`, rounded down (Hermite's identity). It only grows
 * with `perSlot`, so that a crowd which changes does not fill every slot up to the next whole number.
 */
const roomIn = (slot: number, perSlot: number): number => Math.floor(perSlot + (slot % 5) / 5);

/** All links of this process share it: only together can they be a crowd. */
const pacing = createPacing(systemClock);

/** The pause of one who has failed so often. */
export const retryInMs = (failures: number, firstMs: number, capMs: number): number =>
  pacing.placeMs(backoffMs(failures, firstMs, capMs));

export interface Retry {
  cancel(): void;
}

/** A link that has failed so often is tried again, in its turn. */
export function retryLater(failures: number, firstMs: number, capMs: number, attempt: () => void): Retry {
  let timer: NodeJS.Timeout | undefined;
  const waitMs = (ms: number): void => {
    const dueMs = systemClock.monotonicMs() + ms;
    timer = setTimeout(() => {
      const furtherMs = pacing.placeAgainMs(dueMs);
      if (furtherMs === null) attempt();
      else waitMs(furtherMs);
    }, ms);
    timer.unref();
  };
  waitMs(retryInMs(failures, firstMs, capMs));
  return { cancel: () => clearTimeout(timer) };
}

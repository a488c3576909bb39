import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';

/** The vendor counts all calls of an account together. Commands take the next place, readings only a free one. */
export interface CallGate {
  /** False when no place comes before the deadline: then none was taken. */
  takePlace(deadlineMs: number, signal: AbortSignal): Promise<boolean>;
  /** Returns with a place, after every command that waits; false when stopped. */
  takeFreePlace(signal: AbortSignal): Promise<boolean>;
}

export function createCallGate(clock: Clock, intervalMs: number): CallGate {
  let freeAt = Number.NEGATIVE_INFINITY;
  const wait = (ms: number, signal: AbortSignal): Promise<boolean> =>
    delay(Math.max(ms, 0), true, { signal, ref: false }).catch(() => false);
  return {
    async takePlace(deadlineMs, signal) {
      const now = clock.monotonicMs();
      const at = Math.max(now, freeAt);
      if (at >= deadlineMs || signal.aborted) return false;
      freeAt = at + intervalMs;
      return at === now || wait(at - now, signal);
    },
    async takeFreePlace(signal) {
      for (let left = freeAt - clock.monotonicMs(); left > 0; left = freeAt - clock.monotonicMs()) {
        if (!(await wait(left, signal))) return false;
      }
      if (signal.aborted) return false;
      freeAt = clock.monotonicMs() + intervalMs;
      return true;
    },
  };
}

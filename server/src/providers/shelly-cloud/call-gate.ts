import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';

/** The vendor counts all calls of an account together. Commands take the next place, readings only a free one. */
export interface CallGate {
  /** False when no place comes before the deadline: then none was taken. */
  takePlace(deadlineMs: number, signal: AbortSignal): Promise<boolean>;
  /** Returns with a place, after every command that waits; false when stopped. */
  takeFreePlace(signal: AbortSignal): Promise<boolean>;
}

/** The next place counts from when the last call really went, not from when it was planned. */
export function createCallGate(clock: Clock, intervalMs: number): CallGate {
  let wentAt = Number.NEGATIVE_INFINITY;
  let waiting = 0;
  let lastInLine: Promise<unknown> = Promise.resolve();
  const leftMs = (): number => Math.max(wentAt + intervalMs - clock.monotonicMs(), 0);

  async function go(deadlineMs: number, signal: AbortSignal): Promise<boolean> {
    for (let left = leftMs(); left > 0; left = leftMs()) if (!(await waited(left, signal))) return false;
    const now = clock.monotonicMs();
    if (signal.aborted || now >= deadlineMs) return false;
    wentAt = now;
    return true;
  }
  return {
    async takePlace(deadlineMs, signal) {
      if (clock.monotonicMs() + leftMs() + waiting * intervalMs >= deadlineMs) return false;
      waiting += 1;
      const turn = lastInLine.then(() => go(deadlineMs, signal));
      lastInLine = turn.finally(() => {
        waiting -= 1;
      });
      return turn;
    },
    async takeFreePlace(signal) {
      while (waiting > 0 || leftMs() > 0) {
        if (waiting > 0) await lastInLine;
        else if (!(await waited(leftMs(), signal))) return false;
      }
      return go(Number.POSITIVE_INFINITY, signal);
    },
  };
}

const waited = (ms: number, signal: AbortSignal): Promise<boolean> =>
  delay(ms, true, { signal, ref: false }).catch(() => false);

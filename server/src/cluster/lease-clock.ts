import type { Clock } from '../kernel/clock.ts';

/** A moment, to measure from. */
export interface Mark {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export interface LeaseClock {
  mark(): Mark;
  /**
   * At least what has passed since. The monotonic clock stands still while a machine sleeps, the wall clock may be set
   * back; a lease that one of them calls over is over.
   */
  since(mark: Mark): number;
  /** To be told the database's time, with a mark from before it was asked. */
  learn(databaseMs: number, before: Mark): void;
  /** The database's time now, rather too late than too early; null before it was ever learned. */
  databaseMs(): number | null;
}

export function createLeaseClock(clock: Clock): LeaseClock {
  const mark = (): Mark => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.millis() });
  const since = (from: Mark): number =>
    Math.max(clock.monotonicMs() - from.monotonicMs, clock.millis() - from.wallMs);
  let known: { readonly databaseMs: number; readonly before: Mark } | null = null;
  return {
    mark,
    since,
    learn: (databaseMs, before) => {
      known = { databaseMs, before };
    },
    databaseMs: () => (known === null ? null : known.databaseMs + since(known.before)),
  };
}

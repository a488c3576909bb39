import { type Clock, systemClock } from '../../src/kernel/clock.ts';

/** The machine's time and what a test adds to it, so that windows begin and things expire. Intervals stay real. */
export interface ShiftedClock extends Clock {
  aheadMs: number;
}

export function createShiftedClock(): ShiftedClock {
  const clock: ShiftedClock = {
    ...systemClock,
    aheadMs: 0,
    now: () => new Date(clock.millis()),
    millis: () => systemClock.millis() + clock.aheadMs,
  };
  return clock;
}

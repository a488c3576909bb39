// Test 13 of design/reliability.md: a thousand links that come back together, on a clock of its own.
import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';
import { createPacing } from './pacing.ts';

interface Herd {
  readonly linkCount?: number;
  readonly outageMs: number;
  /** Of every three seconds the process stands still for the last ones. */
  readonly stallMs?: number;
}

/** When each of the links is back, after all were lost at 0 and could not return before the outage was over. */
function returnsOf(
  { linkCount = 1_000, outageMs, stallMs = 0 }: Herd,
  place: (clock: { nowMs: number }) => (wantedMs: number) => number,
) {
  const runsAt = (ms: number) => (ms % 3_000 < 3_000 - stallMs ? ms : Math.ceil(ms / 3_000) * 3_000);
  const clock = { nowMs: 0 };
  const placeMs = place(clock);
  const wait = (failures: number) => placeMs(backoffMs(failures, 250, 10_000));
  const links = Array.from({ length: linkCount }, () => ({ failures: 1, atMs: wait(1) }));
  const back: number[] = [];
  while (links.length > 0) {
    links.sort((a, b) => b.atMs - a.atMs);
    const next = links.pop() as (typeof links)[number];
    clock.nowMs = runsAt(next.atMs);
    if (clock.nowMs >= outageMs) back.push(clock.nowMs - outageMs);
    else {
      next.failures += 1;
      links.push({ ...next, atMs: clock.nowMs + wait(next.failures) });
    }
  }
  return back;
}

/** In any stretch of a second, wherever it begins. */
function fullestSecond(returns: readonly number[]): number {
  const sorted = returns.toSorted((a, b) => a - b);
  return Math.max(...sorted.map((from) => sorted.filter((at) => at >= from && at < from + 1_000).length));
}

/** On a process that has run for half a day. */
const paced = (clock: { nowMs: number }) =>
  createPacing({ monotonicMs: () => 43_200_000 + clock.nowMs }).placeMs;
const unpaced = () => (wantedMs: number) => wantedMs;

describe('links that come back together', () => {
  it.each<Herd>([
    { outageMs: 2_000 },
    { outageMs: 20_000 },
    { outageMs: 60_000 },
    { outageMs: 300_000 },
    { outageMs: 2_000, linkCount: 240 },
    { outageMs: 2_000, linkCount: 350 },
    { outageMs: 60_000, stallMs: 200 },
    { outageMs: 3_000, linkCount: 400, stallMs: 200 },
  ])(
    '%o: at most one in twenty within any second, and all within forty seconds',
    (herd) => {
      const { linkCount = 1_000 } = herd;
      const returns = returnsOf(herd, paced);
      expect(returns).toHaveLength(linkCount);
      expect(fullestSecond(returns)).toBeLessThanOrEqual(linkCount * 0.05);
      expect(Math.max(...returns)).toBeLessThan(40_000);
    },
    60_000,
  );

  it('would be seen as a crowd with back-off and jitter alone', () => {
    expect(fullestSecond(returnsOf({ outageMs: 60_000 }, unpaced))).toBeGreaterThan(50);
  }, 60_000);

  it('are not held up when they are few', () => {
    const { placeMs } = createPacing({ monotonicMs: () => 12_345 });
    for (let link = 0; link < 2; link += 1) expect(placeMs(250)).toBe(250);
    expect(placeMs(250)).toBeGreaterThan(250);
  });

  it('leave no trace once their time has passed', () => {
    let nowMs = 0;
    const { placeMs } = createPacing({ monotonicMs: () => nowMs });
    for (let link = 0; link < 100; link += 1) placeMs(250);
    nowMs = 3_600_000;
    expect(placeMs(250)).toBe(250);
  });
});

// Test 13 of design/reliability.md: a thousand links that come back together, on a clock of its own.
import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';
import { createPacing } from './pacing.ts';

const linkCount = 1_000;

/** When each of the links is back, after all were lost at 0 and could not return before `outageMs`. */
function returnsAfter(outageMs: number, place: (clock: { nowMs: number }) => (wantedMs: number) => number) {
  const clock = { nowMs: 0 };
  const placeMs = place(clock);
  const wait = (failures: number) => placeMs(backoffMs(failures, 250, 10_000));
  const links = Array.from({ length: linkCount }, () => ({ failures: 1, atMs: wait(1) }));
  const back: number[] = [];
  while (links.length > 0) {
    links.sort((a, b) => b.atMs - a.atMs);
    const next = links.pop() as (typeof links)[number];
    clock.nowMs = next.atMs;
    if (next.atMs >= outageMs) back.push(next.atMs - outageMs);
    else {
      next.failures += 1;
      links.push({ ...next, atMs: next.atMs + wait(next.failures) });
    }
  }
  return back;
}

/** In any stretch of a second, wherever it begins. */
function fullestSecond(returns: readonly number[]): number {
  const sorted = returns.toSorted((a, b) => a - b);
  return Math.max(...sorted.map((from) => sorted.filter((at) => at >= from && at < from + 1_000).length));
}

const paced = (clock: { nowMs: number }) => createPacing({ monotonicMs: () => clock.nowMs }).placeMs;
const unpaced = () => (wantedMs: number) => wantedMs;

describe('links that come back together', () => {
  it.each([2_000, 20_000, 60_000, 300_000])(
    'after %d ms: at most one in twenty within any second, and all within forty seconds',
    (outageMs) => {
      const returns = returnsAfter(outageMs, paced);
      expect(returns).toHaveLength(linkCount);
      expect(fullestSecond(returns)).toBeLessThanOrEqual(linkCount * 0.05);
      expect(Math.max(...returns)).toBeLessThan(40_000);
    },
    60_000,
  );

  it('would be seen as a crowd with back-off and jitter alone', () => {
    expect(fullestSecond(returnsAfter(60_000, unpaced))).toBeGreaterThan(linkCount * 0.05);
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

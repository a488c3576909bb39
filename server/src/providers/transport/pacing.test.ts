// Test 13 of design/reliability.md: a thousand links that come back together, on a clock of its own.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { backoffMs } from './backoff.ts';
import { createPacing, type Pacing, retryLater } from './pacing.ts';

interface Herd {
  readonly linkCount?: number;
  readonly outageMs: number;
  /** Of every three seconds the process stands still for the last ones. */
  readonly stallMs?: number;
}

/** When each of the links is back, after all were lost at 0 and could not return before the outage was over. */
function returnsOf(
  { linkCount = 1_000, outageMs, stallMs = 0 }: Herd,
  pace: (clock: { nowMs: number }) => Pacing,
) {
  const runsAt = (ms: number) => (ms % 3_000 < 3_000 - stallMs ? ms : Math.ceil(ms / 3_000) * 3_000);
  const clock = { nowMs: 0 };
  const { placeMs, placeAgainMs } = pace(clock);
  const wait = (failures: number) => placeMs(backoffMs(failures, 250, 10_000));
  const links = Array.from({ length: linkCount }, () => ({ failures: 1, atMs: wait(1) }));
  const back: number[] = [];
  while (links.length > 0) {
    links.sort((a, b) => b.atMs - a.atMs);
    const next = links.pop() as (typeof links)[number];
    clock.nowMs = runsAt(next.atMs);
    const furtherMs = placeAgainMs(next.atMs);
    if (furtherMs !== null) links.push({ ...next, atMs: clock.nowMs + furtherMs });
    else if (clock.nowMs >= outageMs) back.push(clock.nowMs - outageMs);
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
function paced(clock: { nowMs: number }): Pacing {
  const startedMs = 43_200_000;
  const pacing = createPacing({ monotonicMs: () => startedMs + clock.nowMs });
  return { ...pacing, placeAgainMs: (dueMs) => pacing.placeAgainMs(startedMs + dueMs) };
}
const lateTogether = (clock: { nowMs: number }): Pacing => ({ ...paced(clock), placeAgainMs: () => null });
const unpaced = (): Pacing => ({ placeMs: (wantedMs) => wantedMs, placeAgainMs: () => null });

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
    { outageMs: 60_000, stallMs: 1_000 },
    { outageMs: 2_000, stallMs: 1_000 },
    { outageMs: 60_000, linkCount: 300, stallMs: 1_500 },
  ])(
    '%o: at most one in twenty within any second, and all within forty seconds of a process that runs',
    (herd) => {
      const { linkCount = 1_000, stallMs = 0 } = herd;
      const returns = returnsOf(herd, paced);
      expect(returns).toHaveLength(linkCount);
      expect(fullestSecond(returns)).toBeLessThanOrEqual(linkCount * 0.05);
      expect(Math.max(...returns)).toBeLessThan(40_000 / (1 - stallMs / 3_000));
    },
  );

  it('would be seen as a crowd with back-off and jitter alone', () => {
    expect(fullestSecond(returnsOf({ outageMs: 60_000 }, unpaced))).toBeGreaterThan(50);
  });

  it('would be seen as a crowd when those that a process is late with came together', () => {
    expect(fullestSecond(returnsOf({ outageMs: 60_000, stallMs: 1_000 }, lateTogether))).toBeGreaterThan(50);
  });

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

describe('an attempt', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
  /** A process: after it stood still, all that is due by then comes at once. */
  function startProcess() {
    let nowMs = performance.now();
    const waiting = new Map<object, { atMs: number; callback: () => void }>();
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    vi.stubGlobal('setTimeout', (callback: () => void, ms: number) => {
      const timer = { unref: () => timer };
      waiting.set(timer, { atMs: nowMs + ms, callback });
      return timer;
    });
    vi.stubGlobal('clearTimeout', (timer: object) => waiting.delete(timer));
    const standStill = (ms: number): void => {
      nowMs += ms;
      const due = [...waiting].filter(([, { atMs }]) => atMs <= nowMs);
      for (const [timer, { callback }] of due) if (waiting.delete(timer)) callback();
    };
    return {
      standStill,
      run(ms: number) {
        for (let passed = 0; passed < ms; passed += 25) standStill(25);
      },
    };
  }

  it('comes once, and not when it was cancelled', () => {
    const { run } = startProcess();
    const [attempt, cancelled] = [vi.fn(), vi.fn()];
    retryLater(1, 250, 250, attempt);
    retryLater(1, 250, 250, cancelled).cancel();
    run(2_000);
    expect(attempt).toHaveBeenCalledOnce();
    expect(cancelled).not.toHaveBeenCalled();
  });

  it('waits for its turn anew, together with all that the process is late with', () => {
    const { run, standStill } = startProcess();
    const attempts = Array.from({ length: 40 }, () => vi.fn());
    const retries = attempts.map((attempt) => retryLater(1, 250, 250, attempt));
    const made = () => attempts.filter((attempt) => attempt.mock.calls.length > 0).length;
    standStill(60_000);
    expect(made()).toBe(0);
    retries[39]?.cancel();
    run(1_000);
    expect(made()).toBeGreaterThan(0);
    expect(made()).toBeLessThanOrEqual(12);
    run(10_000);
    expect(attempts.map((attempt) => attempt.mock.calls.length)).toEqual([...Array(39).fill(1), 0]);
  });
});

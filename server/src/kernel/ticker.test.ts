import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTicker } from './ticker.ts';

/** Turns that end when the test says so. */
function heldTicker() {
  const ends: ((error?: Error) => void)[] = [];
  const warned: unknown[] = [];
  const ticker = createTicker({
    everyMs: 100,
    work: () =>
      new Promise<void>((resolve, reject) => {
        ends.push((error) => (error === undefined ? resolve() : reject(error)));
      }),
    logger: { warn: (...said: unknown[]) => void warned.push(said[1]) },
    trouble: 'no luck',
  });
  return { ticker, ends, warned };
}

describe('a ticker', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('leaves out the turns that would begin while one is under way', async () => {
    const { ticker, ends } = heldTicker();
    ticker.start();
    await vi.advanceTimersByTimeAsync(350);
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await vi.advanceTimersByTimeAsync(100);
    expect(ends).toHaveLength(2);
  });

  it('logs what fails and goes on', async () => {
    const { ticker, ends, warned } = heldTicker();
    ticker.start();
    await vi.advanceTimersByTimeAsync(100);
    ends[0]?.(new Error('gone'));
    await vi.advanceTimersByTimeAsync(100);
    expect([warned, ends.length]).toEqual([['no luck'], 2]);
  });

  it('stops after what is under way, and begins nothing more', async () => {
    const { ticker, ends } = heldTicker();
    ticker.start();
    const turn = ticker.turn();
    let stopped = false;
    const stop = ticker.stop().then(() => {
      stopped = true;
    });
    await vi.advanceTimersByTimeAsync(500);
    expect([stopped, ends.length]).toEqual([false, 1]);
    ends[0]?.();
    await Promise.all([turn, stop]);
    await vi.advanceTimersByTimeAsync(500);
    expect(ends).toHaveLength(1);
  });
});

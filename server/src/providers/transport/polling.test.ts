import { describe, expect, it } from 'vitest';
import { systemClock } from '../../kernel/clock.ts';
import { startPolling } from './polling.ts';

const times = { everyMs: 3_600_000, retryMs: 1, maxRetryMs: 5 };

describe('polling', () => {
  it('reads at once, then not before its time', async () => {
    const first = Promise.withResolvers<void>();
    let rounds = 0;
    const polling = startPolling(systemClock, times, async () => {
      rounds += 1;
      first.resolve();
      return true;
    });
    await first.promise;
    await polling.close();
    expect(rounds).toBe(1);
  });

  it('goes on after failures', async () => {
    const fourth = Promise.withResolvers<void>();
    let rounds = 0;
    const polling = startPolling(systemClock, times, async () => {
      rounds += 1;
      if (rounds === 4) fourth.resolve();
      return false;
    });
    await fourth.promise;
    await polling.close();
  });

  it('reads once more when asked during a round, never two rounds at once', async () => {
    const second = Promise.withResolvers<void>();
    let active = 0;
    let most = 0;
    let rounds = 0;
    const polling = startPolling(systemClock, times, async () => {
      active += 1;
      most = Math.max(most, active);
      if (rounds === 0) polling.soon(0);
      await new Promise(setImmediate);
      rounds += 1;
      active -= 1;
      if (rounds === 2) second.resolve();
      return true;
    });
    await second.promise;
    await polling.close();
    expect(most).toBe(1);
  });

  it('waits for the round under way when it is closed, and reads no more', async () => {
    const begun = Promise.withResolvers<void>();
    let ended = false;
    const polling = startPolling(systemClock, times, (signal) => {
      begun.resolve();
      return new Promise((resolve) => {
        signal.addEventListener('abort', () =>
          setImmediate(() => {
            ended = true;
            resolve(true);
          }),
        );
      });
    });
    await begun.promise;
    await polling.close();
    polling.soon(0);
    expect(ended).toBe(true);
  });
});

import type { Clock } from '../../kernel/clock.ts';
import { jittered } from './backoff.ts';
import { retryInMs } from './pacing.ts';

export interface PollingTimes {
  readonly everyMs: number;
  /** After a failure: the first pause, doubled with every further one. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

export interface Polling {
  /** The next round in this time at the latest; a round that is under way is followed by one more. */
  soon(inMs: number): void;
  /** Returns when the round under way has ended. */
  close(): Promise<void>;
}

/** Rounds of reading, never two at once; the first one starts at once. `round` says whether it went well. */
export function startPolling(
  clock: Clock,
  times: PollingTimes,
  round: (signal: AbortSignal) => Promise<boolean>,
): Polling {
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let busy = false;
  let dueAt = Number.POSITIVE_INFINITY;
  let failures = 0;

  function planBy(at: number): void {
    dueAt = Math.min(dueAt, at);
    if (busy) return;
    clearTimeout(timer);
    timer = setTimeout(start, Math.max(dueAt - clock.monotonicMs(), 0));
    timer.unref();
  }
  async function run(): Promise<void> {
    failures = (await round(stopping.signal)) ? 0 : failures + 1;
    busy = false;
    if (stopping.signal.aborted) return;
    const { everyMs, retryMs, maxRetryMs } = times;
    const pause = failures === 0 ? jittered(everyMs) : retryInMs(failures, retryMs, maxRetryMs);
    planBy(clock.monotonicMs() + pause);
  }
  function start(): void {
    busy = true;
    dueAt = Number.POSITIVE_INFINITY;
    running = run();
  }

  planBy(clock.monotonicMs());
  return {
    soon(inMs) {
      if (!stopping.signal.aborted) planBy(clock.monotonicMs() + inMs);
    },
    async close() {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}

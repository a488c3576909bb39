import { backoffMs, jittered } from './backoff.ts';

export interface PollingTimes {
  readonly everyMs: number;
  /** After a failure: the first pause, doubled with every further one. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
}

export interface Polling {
  /** The next round in this time instead of later; a round that is under way is followed by one more. */
  soon(inMs: number): void;
  /** Returns when the round under way has ended. */
  close(): Promise<void>;
}

/** Rounds of reading, never two at once; the first one starts at once. `round` says whether it went well. */
export function startPolling(times: PollingTimes, round: (signal: AbortSignal) => Promise<boolean>): Polling {
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let busy = false;
  let wanted: number | null = null;
  let failures = 0;

  function plan(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(start, ms);
    timer.unref();
  }
  async function run(): Promise<void> {
    failures = (await round(stopping.signal)) ? 0 : failures + 1;
    busy = false;
    if (stopping.signal.aborted) return;
    const pause =
      failures === 0 ? jittered(times.everyMs) : backoffMs(failures, times.retryMs, times.maxRetryMs);
    plan(Math.min(pause, wanted ?? pause));
    wanted = null;
  }
  function start(): void {
    busy = true;
    running = run();
  }

  plan(0);
  return {
    soon(inMs) {
      if (stopping.signal.aborted) return;
      if (!busy) plan(inMs);
      else wanted = inMs;
    },
    async close() {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}

export interface Poll {
  /** Runs at once, or once more when a run is under way. */
  now(): void;
  /** A run that is under way hears of it by its signal. */
  stop(): void;
}

/** Repeats the work while somebody can see the page; a run never overlaps the one before. */
export function pollWhileVisible(work: (stopped: AbortSignal) => Promise<void>, everyMs: number): Poll {
  const stopping = new AbortController();
  const { signal } = stopping;
  let timer: number | undefined;
  let isRunning = false;
  let isWanted = false;

  function schedule(): void {
    if (!signal.aborted && document.visibilityState === 'visible')
      timer = window.setTimeout(() => void run(), everyMs);
  }

  async function run(): Promise<void> {
    window.clearTimeout(timer);
    isWanted = isRunning;
    if (isRunning || signal.aborted) return;
    isRunning = true;
    try {
      await work(signal);
    } finally {
      isRunning = false;
    }
    if (isWanted) void run();
    else schedule();
  }

  const onVisibility = () => {
    window.clearTimeout(timer);
    if (document.visibilityState === 'visible') void run();
  };
  document.addEventListener('visibilitychange', onVisibility);
  void run();
  return {
    now: () => void run(),
    stop: () => {
      stopping.abort();
      window.clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    },
  };
}

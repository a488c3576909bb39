export interface Poll {
  /** Runs at once, or once more when a run is under way. */
  now(): void;
  stop(): void;
}

/** Repeats the work while somebody can see the page; a run never overlaps the one before. */
export function pollWhileVisible(work: () => Promise<void>, everyMs: number): Poll {
  let timer: number | undefined;
  let isRunning = false;
  let isWanted = false;
  let isStopped = false;

  function schedule(): void {
    if (!isStopped && document.visibilityState === 'visible')
      timer = window.setTimeout(() => void run(), everyMs);
  }

  async function run(): Promise<void> {
    window.clearTimeout(timer);
    isWanted = isRunning;
    if (isRunning || isStopped) return;
    isRunning = true;
    try {
      await work();
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
      isStopped = true;
      window.clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    },
  };
}

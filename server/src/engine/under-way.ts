export interface UnderWay {
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** When all work of the key that runs now has ended, well or not. */
  settled(key: string): Promise<void>;
}

/** Knows what runs, so that nothing is taken away from under it. */
export function createUnderWay(): UnderWay {
  const running = new Map<string, Set<Promise<unknown>>>();
  return {
    async run(key, work) {
      const job = work();
      const all = running.get(key) ?? new Set<Promise<unknown>>();
      running.set(key, all.add(job));
      try {
        return await job;
      } finally {
        all.delete(job);
        if (all.size === 0) running.delete(key);
      }
    },
    async settled(key) {
      const jobs: ReadonlySet<Promise<unknown>> = running.get(key) ?? new Set();
      await Promise.allSettled(jobs);
    },
  };
}

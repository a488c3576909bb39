/** Something that waits for its share of a batch. */
export interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export interface BatchOptions<Item, Result> {
  readonly maxSize: number;
  /** How many batches may be under way at once. */
  readonly lanes: number;
  /** Settles every one it is given. Its lane is free again when it returns. */
  readonly run: (batch: readonly Waiting<Item, Result>[]) => Promise<void>;
  /** After such an error those who wait would only wait longer for the same: they share it. */
  readonly endsAll?: (error: unknown) => boolean;
}

/** Gathers what arrives while earlier batches are under way, so that many callers share one piece of work. */
export function createBatches<Item, Result>(
  options: BatchOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let busyLanes = 0;

  async function work(): Promise<void> {
    // A turn of the event loop lets callers that came together share the first batch, too.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const batch = waiting.splice(0, options.maxSize);
      await options.run(batch).catch((error: unknown) => {
        const refused = options.endsAll?.(error) ? [...batch, ...waiting.splice(0)] : batch;
        for (const { reject } of refused) reject(error);
      });
    }
    busyLanes -= 1;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (busyLanes === options.lanes) return;
      busyLanes += 1;
      void work();
    });
}

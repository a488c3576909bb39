export interface KeyedMutex {
  /** Runs work alone among all work of the same key, in order of arrival. Not reentrant: nesting a key deadlocks. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Keys with work running or waiting. */
  size(): number;
}

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<void>>();

  const run = <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const previous = tails.get(key) ?? Promise.resolve();
    const result = previous.then(work);
    const settle = (): void => {
      if (tails.get(key) === tail) tails.delete(key);
    };
    // The tail swallows a rejection: it belongs to the caller of this work, not to the next in line.
    const tail = result.then(settle, settle);
    tails.set(key, tail);
    return result;
  };

  return { run, size: () => tails.size };
}

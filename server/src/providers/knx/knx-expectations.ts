/** Waiting for things that are heard, where more than one may wait for the same. */
export interface Expectations<Heard> {
  expect<T>(pick: (heard: Heard) => T | null): Expectation<T>;
  tell(heard: Heard): void;
  /** Nothing will be heard any more: everybody who waits gets null. */
  end(): void;
}

export interface Expectation<T> {
  /** The first that fitted since it was made, or null when the time is over. */
  within(ms: number): Promise<T | null>;
  cancel(): void;
}

interface Listener<Heard> {
  readonly hear: (heard: Heard) => void;
  readonly end: () => void;
}

export function createExpectations<Heard>(): Expectations<Heard> {
  const listeners = new Set<Listener<Heard>>();
  return {
    expect(pick) {
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof pick>>();
      const listener: Listener<Heard> = {
        hear: (heard) => {
          const picked = pick(heard);
          if (picked !== null) resolve(picked);
        },
        end: () => resolve(null),
      };
      listeners.add(listener);
      return {
        within: (ms) => firstWithin(promise, ms),
        cancel: () => void listeners.delete(listener),
      };
    },
    tell(heard) {
      for (const listener of [...listeners]) listener.hear(heard);
    },
    end() {
      for (const listener of [...listeners]) listener.end();
    },
  };
}

async function firstWithin<T>(promise: Promise<T | null>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}

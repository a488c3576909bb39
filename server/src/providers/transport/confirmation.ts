import type { Clock } from '../../kernel/clock.ts';

/** The device's own answer to a command, which arrives on another path than the command left on. */
export interface Confirmation<T> {
  give(answer: T): void;
  /** What was given so far. */
  current(): T | null;
  /** The answer, or null when the time is over. */
  readonly answer: Promise<T | null>;
  /** Frees the timer. */
  cancel(): void;
}

export function awaitConfirmation<T>(clock: Clock, deadlineMs: number, signal: AbortSignal): Confirmation<T> {
  const { promise, resolve } = Promise.withResolvers<T | null>();
  let given: T | null = null;
  const giveUp = (): void => resolve(null);
  const timer = setTimeout(giveUp, Math.max(0, deadlineMs - clock.monotonicMs()));
  signal.addEventListener('abort', giveUp, { once: true });
  return {
    give(answer) {
      given ??= answer;
      resolve(given);
    },
    current: () => given,
    answer: promise,
    cancel() {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      resolve(null);
    },
  };
}

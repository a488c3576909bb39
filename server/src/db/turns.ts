import { AppError } from '../kernel/app-error.ts';
import type { Clock } from '../kernel/clock.ts';

/** Who may use one of the connections, in the order they came. */
export interface Turns {
  take(): Promise<void>;
  giveBack(): void;
  /** The database has answered something. */
  answered(): void;
  /** It has not answered in time what was asked at `sinceMs`. */
  unanswered(sinceMs: number): void;
  hasAnsweredSince(sinceMs: number): boolean;
  /** Nothing was answered since something was not. */
  isSilent(): boolean;
  waiting(): number;
}

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
  readonly limit: NodeJS.Timeout;
}

/** While the database answers others, a crowd is served in its turn. */
const patienceMs = 10_000;

/**
 * A busy database and one that is gone look alike to those who wait for a connection. They are told apart by whether
 * anybody is answered: then waiting is worth it, else all who wait are told at once.
 */
export function createTurns(connections: number, { monotonicMs }: Pick<Clock, 'monotonicMs'>): Turns {
  const waiters = new Set<Waiter>();
  let free = connections;
  let [lastAnswerMs, isSilent] = [Number.NEGATIVE_INFINITY, false];

  const refuse = (waiter: Waiter): void => {
    clearTimeout(waiter.limit);
    waiters.delete(waiter);
    waiter.reject(new AppError('unavailable', 'the database can not be reached'));
  };
  return {
    take() {
      if (free > 0) {
        free -= 1;
        return Promise.resolve();
      }
      return new Promise((resolve, reject) => {
        const waiter = { resolve, reject, limit: setTimeout(() => refuse(waiter), patienceMs) };
        waiters.add(waiter);
      });
    },
    giveBack() {
      const [next] = waiters;
      if (next === undefined) {
        free += 1;
        return;
      }
      clearTimeout(next.limit);
      waiters.delete(next);
      next.resolve();
    },
    answered() {
      lastAnswerMs = monotonicMs();
      isSilent = false;
    },
    unanswered(sinceMs) {
      if (lastAnswerMs >= sinceMs) return;
      isSilent = true;
      for (const waiter of waiters) refuse(waiter);
    },
    hasAnsweredSince: (sinceMs) => lastAnswerMs >= sinceMs,
    isSilent: () => isSilent,
    waiting: () => waiters.size,
  };
}

import { AppError } from '../kernel/app-error.ts';
import { type Clock, hasStoodStill, lateMs } from '../kernel/clock.ts';

/** Who may use one of the connections, in the order they came. */
export interface Turns {
  take(): Promise<void>;
  giveBack(): void;
  /** The database has answered something. */
  answered(): void;
  /** Somebody has waited for it in vain. */
  unanswered(): void;
  /** Gives up when nobody at all was answered for a while, or when it has taken too long in any case. */
  inTime<T>(answer: Promise<T>): Promise<T>;
  /** Nothing was answered since somebody waited in vain. */
  isSilent(): boolean;
  waiting(): number;
}

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
  readonly limit: NodeJS.Timeout;
}

/** Whoever waits at a door is told within two seconds that the database does not answer. */
export const usualAnswerMs = 1_500;
/** While it answers others, an urgent statement is waited for as long as the open it is for has time. */
const urgentWithinMs = 5_000;
/** While it answers others, a crowd is served in its turn. */
const patienceMs = 10_000;
/** Less than anybody waits for an answer: a reply that was under way when the last ones were asked proves nothing. */
const silenceMs = 1_000;

/**
 * A busy database and one that is gone look alike to those who wait for a connection. They are told apart by whether
 * anybody is answered: then waiting is worth it, else all who wait are told at once.
 */
export function createTurns(
  connections: number,
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  withinMs = usualAnswerMs,
): Turns {
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
    unanswered() {
      if (monotonicMs() - lastAnswerMs < silenceMs) return;
      isSilent = true;
      for (const waiter of waiters) refuse(waiter);
    },
    inTime: (answer) => {
      const sinceMs = monotonicMs();
      const lastMs = sinceMs + Math.max(urgentWithinMs, withinMs);
      const endMs = () => Math.min(Math.max(sinceMs, lastAnswerMs) + withinMs, lastMs);
      return untilLate(answer, monotonicMs, endMs);
    },
    isSilent: () => isSilent,
    waiting: () => waiters.size,
  };
}

/** The answer, unless it has not come when its time is over; that may be put off meanwhile. */
function untilLate<T>(answer: Promise<T>, monotonicMs: () => number, endMs: () => number): Promise<T> {
  let timer: NodeJS.Timeout;
  return new Promise((resolve, reject) => {
    const lookIn = (ms: number): void => {
      timer = setTimeout(look, ms, monotonicMs() + ms);
    };
    const look = (dueMs: number): void => {
      const nowMs = monotonicMs();
      const leftMs = endMs() - nowMs;
      if (leftMs > 0) lookIn(Math.ceil(leftMs));
      // A late timer is no sign of a slow database.
      else if (hasStoodStill(dueMs, nowMs)) lookIn(lateMs);
      else reject(new Error('timeout of a statement'));
    };
    look(monotonicMs());
    answer.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}

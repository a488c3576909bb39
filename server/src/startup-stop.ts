import type { Clock } from './kernel/clock.ts';

const REPEAT_MS = 1000;

export interface StopRequests {
  /** Settles with the first request to stop. */
  readonly requested: Promise<NodeJS.Signals>;
  /** To be asked between the steps of a start. */
  readonly isRequested: () => boolean;
}

export interface StopOptions {
  readonly clock: Clock;
  readonly listen: (signal: NodeJS.Signals, handler: () => void) => void;
  /** For whoever asks again: they do not want to wait. */
  readonly leaveAtOnce: () => void;
}

/**
 * One Ctrl-C arrives several times: from the terminal, from npm, from scripts/start.mjs. So what follows within a
 * second belongs to the first request; what comes later is a new one.
 */
export function createStopRequests({ clock, listen, leaveAtOnce }: StopOptions): StopRequests {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let firstAt: number | null = null;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    listen(signal, () => {
      const now = clock.monotonicMs();
      if (firstAt === null) {
        firstAt = now;
        resolve(signal);
      } else if (now - firstAt > REPEAT_MS) leaveAtOnce();
    });
  }
  return { requested: promise, isRequested: () => firstAt !== null };
}

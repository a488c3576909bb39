import type { Logger } from './logger.ts';

/** Work that is done again and again. */
export interface Ticker {
  start(): void;
  /** A turn now; the one under way, if there is one. Never rejects. */
  turn(): Promise<void>;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

export interface TickerOptions {
  readonly everyMs: number;
  readonly work: () => Promise<unknown>;
  readonly logger: Pick<Logger, 'warn'>;
  /** What is logged when a turn fails; the next one comes all the same. */
  readonly trouble: string;
}

/** Turns never overlap: one that takes longer than the interval makes the next ones fall out instead of queueing up. */
export function createTicker({ everyMs, work, logger, trouble }: TickerOptions): Ticker {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  const attempt = async (): Promise<void> => {
    try {
      await work();
    } catch (error) {
      logger.warn({ err: error }, trouble);
    } finally {
      running = null;
    }
  };
  const turn = (): Promise<void> => {
    running ??= attempt();
    return running;
  };
  return {
    turn,
    start() {
      timer ??= setInterval(() => void turn(), everyMs).unref();
    },
    async stop() {
      clearInterval(timer);
      timer = undefined;
      await running;
    },
  };
}

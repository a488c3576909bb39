import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

export interface NotificationsOptions {
  readonly url: string;
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  /** What was said while nobody listened is lost. */
  readonly onReconnect: () => void;
  readonly onError: (error: unknown) => void;
}

export interface Notifications {
  close(): Promise<void>;
}

const retryMs = 1_000;

/** LISTEN on a session of its own, kept up until it is closed. */
export function listenTo(options: NotificationsOptions): Notifications {
  const ended = new AbortController();
  const running = keepListening(options, ended.signal);
  return {
    close: () => {
      ended.abort();
      return running;
    },
  };
}

async function keepListening(options: NotificationsOptions, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      await listenOnce(options, signal, attempt > 0);
    } catch (error) {
      if (!signal.aborted) options.onError(error);
    }
    if (!signal.aborted) await delay(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** Until the session breaks or the signal comes. */
async function listenOnce(
  { url, channel, onPayload, onReconnect }: NotificationsOptions,
  signal: AbortSignal,
  isAgain: boolean,
): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    options: '-c role=lintel_app',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  const { promise: broken, resolve, reject } = Promise.withResolvers<void>();
  broken.catch(() => undefined);
  client.on('error', reject).on('end', () => resolve());
  signal.addEventListener('abort', () => resolve(), { once: true });
  client.on('notification', ({ payload }) => onPayload(payload ?? ''));
  try {
    await client.connect();
    await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    if (isAgain) onReconnect();
    await broken;
  } finally {
    await client.end().catch(() => undefined);
  }
}

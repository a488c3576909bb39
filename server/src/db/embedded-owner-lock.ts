import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { EmbeddedPostgresError } from './embedded-error.ts';

/**
 * Session-level advisory lock of the process that owns an embedded cluster: ASCII "LINTEL" as a 48-bit number. Advisory
 * locks belong to one database; this one is taken in `postgres`, so the product's database stays free to be a template.
 */
export const OWNER_LOCK_KEY = BigInt(0x4c494e54454c);

export type OwnerLock = {
  /** Call before the server is stopped: from then on the loss of the session is expected. */
  expectEnd(): void;
  close(): Promise<void>;
};

export type OwnerLockOptions = {
  readonly url: string;
  readonly dataDir: string;
  readonly log: (message: string) => void;
  readonly isServerUp: () => boolean;
  readonly onLost: (reason: string) => void;
};

const CONNECT_MS = 10_000;
const RETRY_MS = 100;
// The server sees the closed socket of a killed owner at once, but on a loaded machine that may take seconds.
const TAKE_ATTEMPTS = 100;
const RETAKE_ATTEMPTS = 300;

export async function takeOwnerLock(options: OwnerLockOptions): Promise<OwnerLock> {
  let ending = false;
  let holder = await take(options);
  const watch = () => {
    holder.once('end', () => {
      if (!ending) void retake();
    });
  };
  // A crash of any backend makes PostgreSQL end every session: the lock must then be had again, or given up for good.
  const retake = async () => {
    const again = await tryTakeAgain(options, () => ending);
    if (ending) await again?.end();
    else if (!again) options.onLost(`the exclusive hold on the database in ${options.dataDir} was lost`);
    else {
      holder = again;
      options.log('The database ended our session; the lock on it was taken again.');
      watch();
    }
  };
  watch();
  return {
    expectEnd: () => {
      ending = true;
    },
    close: async () => {
      ending = true;
      await holder.end();
    },
  };
}

async function take(options: OwnerLockOptions): Promise<Client> {
  const client = await connect(options.url);
  for (let attempt = 1; attempt <= TAKE_ATTEMPTS; attempt++) {
    if (await tryLock(client)) return client;
    if (attempt === 1) options.log('Waiting for another Lintel on this data to end.');
    await sleep(RETRY_MS);
  }
  const owner = await findOwner(client);
  await client.end();
  throw new EmbeddedPostgresError(
    `Another Lintel is already running on ${options.dataDir}${owner}.
Stop it first, or give this one its own data: LINTEL_DATA_DIR=/another/directory PORT=8081 npm start`,
  );
}

async function tryTakeAgain(options: OwnerLockOptions, isEnding: () => boolean): Promise<Client | null> {
  for (let attempt = 1; attempt <= RETAKE_ATTEMPTS && !isEnding(); attempt++) {
    if (!options.isServerUp()) return null;
    try {
      const client = await connect(options.url);
      if (await tryLock(client)) return client;
      await client.end();
    } catch {
      // The server recovers from the crash of a session and takes no new ones yet.
    }
    await sleep(RETRY_MS);
  }
  return null;
}

async function connect(url: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: `lintel owner, process ${process.pid}`,
    connectionTimeoutMillis: CONNECT_MS,
  });
  // Without a listener a lost session would end the process; 'end' follows and is handled by the holder.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function tryLock(client: Client): Promise<boolean> {
  const result = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1::bigint) AS taken', [
    OWNER_LOCK_KEY.toString(),
  ]);
  return result.rows[0]?.taken === true;
}

async function findOwner(client: Client): Promise<string> {
  const result = await client.query<{ application_name: string }>(
    `SELECT activity.application_name
       FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
      WHERE held.locktype = 'advisory' AND held.granted AND held.objsubid = 1
        AND ((held.classid::bigint << 32) | held.objid::bigint) = $1::bigint
        AND activity.datname = current_database()`,
    [OWNER_LOCK_KEY.toString()],
  );
  const name = result.rows[0]?.application_name;
  return name ? ` (${name})` : '';
}

import { resolve } from 'node:path';
import { Client, DatabaseError, escapeIdentifier } from 'pg';
import { chooseAccount, type DatabaseAccount, requireReachable } from './embedded-account.ts';
import { resolveBinaries } from './embedded-binaries.ts';
import {
  type ClusterPaths,
  clusterPaths,
  initialise,
  isInitialised,
  makeDataDir,
  OWNER_ROLE,
  readPassword,
  requireSameMajor,
} from './embedded-cluster.ts';
import { EmbeddedPostgresError } from './embedded-error.ts';
import { type OwnerLock, takeOwnerLock } from './embedded-owner-lock.ts';
import {
  findPostmaster,
  hasEnded,
  hasLostItsBinary,
  type Postmaster,
  settlePostmaster,
  stopPostmaster,
} from './embedded-postmaster.ts';
import { type ServerSettings, startServer } from './embedded-server.ts';

export type EmbeddedPostgresOptions = {
  /** Made when missing. The cluster is `<dataDir>/postgres`, its password `<dataDir>/postgres-password`. */
  readonly dataDir: string;
  readonly log: (message: string) => void;
  /** Server settings over the defaults; an adopted server keeps those it was started with. */
  readonly settings?: ServerSettings;
  readonly database?: string;
  /** Called once when this process has lost its exclusive hold on the data and must not go on. */
  readonly onLost?: (reason: string) => void;
};

export type EmbeddedPostgres = {
  /** Connects as the cluster's superuser: for migrations, never for requests. Holds the password. */
  readonly ownerUrl: string;
  /** True when a server left running by a killed process was taken over. */
  readonly adopted: boolean;
  stop(): Promise<void>;
};

const DYING_MS = 3_000;

type RunningServer = { readonly postmaster: Postmaster; readonly adopted: boolean };

/** Starts, or takes over, the PostgreSQL of this data directory for the exclusive use of this process. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const paths = clusterPaths(resolve(options.dataDir));
  makeDataDir(paths.dataDir);
  const account = await chooseAccount(paths.clusterDir, options.log);
  await requireReachable(account, paths.dataDir);

  let { server, lock } = await runAndOwn(options, paths, account);
  if (server.adopted && hasLostItsBinary(server.postmaster.pid)) {
    options.log('The running PostgreSQL was started from files that are gone; it is restarted.');
    await shutDown(paths, server, lock);
    ({ server, lock } = await runAndOwn(options, paths, account));
  }
  const database = options.database ?? 'lintel';
  try {
    await createDatabase(urlOf(paths, server, 'postgres'), database);
  } catch (error) {
    await shutDown(paths, server, lock);
    throw error;
  }
  const { adopted, postmaster } = server;
  options.log(
    `PostgreSQL ${adopted ? 'was still running and is used again' : 'is running'} on 127.0.0.1:${postmaster.port}.`,
  );
  return { ownerUrl: urlOf(paths, server, database), adopted, stop: () => shutDown(paths, server, lock) };
}

async function run(
  options: EmbeddedPostgresOptions,
  paths: ClusterPaths,
  account: DatabaseAccount,
): Promise<RunningServer> {
  const running = await settlePostmaster(paths.clusterDir);
  if (running) return { postmaster: running, adopted: true };
  const binaries = await resolveBinaries(paths.dataDir, account);
  const settings = options.settings ?? {};
  if (!isInitialised(paths)) {
    options.log(`Creating a PostgreSQL ${binaries.version} database in ${paths.clusterDir}.`);
    await initialise({ paths, binaries, account, durable: settings.fsync !== 'off' });
  }
  requireSameMajor(paths, binaries);
  readPassword(paths); // A missing one is told before there is a server to stop again.
  return startServer({ ...paths, account, nativeDir: binaries.nativeDir, settings });
}

/** A server that was killed a moment ago can still look alive: when it dies under our hands, another one is started. */
async function runAndOwn(
  options: EmbeddedPostgresOptions,
  paths: ClusterPaths,
  account: DatabaseAccount,
): Promise<{ server: RunningServer; lock: OwnerLock }> {
  for (;;) {
    const server = await run(options, paths, account);
    try {
      return { server, lock: await own(options, paths, server) };
    } catch (error) {
      const died = server.adopted && (await hasEnded(server.postmaster.pid, paths.clusterDir, DYING_MS));
      if (error instanceof EmbeddedPostgresError || !died) throw error;
    }
  }
}

/** A server that we started but cannot use is stopped again; one that another Lintel took meanwhile is left alone. */
async function own(
  options: EmbeddedPostgresOptions,
  paths: ClusterPaths,
  server: RunningServer,
): Promise<OwnerLock> {
  const { dataDir } = paths;
  try {
    const url = urlOf(paths, server, 'postgres');
    const isServerUp = () => isStillRunning(paths, server);
    return await takeOwnerLock({
      url,
      dataDir,
      isServerUp,
      log: options.log,
      onLost: options.onLost ?? options.log,
    });
  } catch (error) {
    if (error instanceof EmbeddedPostgresError) throw error;
    if (!server.adopted) await stopPostmaster(paths.clusterDir);
    throw explain(error, paths);
  }
}

function explain(error: unknown, { clusterDir, passwordFile }: ClusterPaths): unknown {
  const INVALID_PASSWORD = '28P01';
  if (!(error instanceof DatabaseError) || error.code !== INVALID_PASSWORD) return error;
  return new EmbeddedPostgresError(
    `The password in ${passwordFile} does not open the database in ${clusterDir}. Restore the file from a backup.`,
  );
}

/**
 * The lock is held until the server is down: a Lintel that starts meanwhile waits for the end of the server instead of
 * taking over one that is about to stop. When our server has died, the one that runs there now is another's.
 */
async function shutDown(paths: ClusterPaths, server: RunningServer, lock: OwnerLock): Promise<void> {
  lock.expectEnd();
  if (isStillRunning(paths, server)) await stopPostmaster(paths.clusterDir);
  await lock.close();
}

function isStillRunning({ clusterDir }: ClusterPaths, { postmaster }: RunningServer): boolean {
  return findPostmaster(clusterDir)?.pid === postmaster.pid;
}

function urlOf(paths: ClusterPaths, { postmaster }: RunningServer, database: string): string {
  return `postgresql://${OWNER_ROLE}:${readPassword(paths)}@127.0.0.1:${postmaster.port}/${encodeURIComponent(database)}`;
}

async function createDatabase(url: string, name: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}

import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DATABASE_ENV, type DatabaseAccount } from './embedded-account.ts';
import { EmbeddedPostgresError } from './embedded-error.ts';
import {
  clearStalePidFile,
  findPostmaster,
  type Postmaster,
  settlePostmaster,
} from './embedded-postmaster.ts';

export type ServerSettings = Readonly<Record<string, string>>;

export type ServerOptions = {
  readonly dataDir: string;
  readonly clusterDir: string;
  readonly account: DatabaseAccount;
  readonly nativeDir: string;
  readonly settings: ServerSettings;
};

const DEFAULT_SETTINGS: ServerSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  max_connections: '100',
  shared_buffers: '128MB',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  jit: 'off',
  timezone: 'UTC',
  // What a killed Lintel had running is cancelled soon, so its row locks do not outlive it.
  client_connection_check_interval: '1s',
  // One file per weekday, overwritten a week later.
  logging_collector: 'on',
  log_directory: 'log',
  log_filename: 'postgresql-%a.log',
  log_truncate_on_rotation: 'on',
  log_rotation_age: '1d',
  log_rotation_size: '0',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Errors of statements reach the client, who logs them without secrets. Here they would quote rows and statements,
  // and a caller could fill the disk with them.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

const ATTEMPTS = 5;
const POLL_MS = 25;
const START_LIMIT_MS = 600_000;

/**
 * A first attempt may fail for reasons that pass: the chosen port was taken in between, orphans of a killed server
 * still hold its memory, a second start was quicker (then its server is found and used).
 */
export async function startServer(
  options: ServerOptions,
): Promise<{ postmaster: Postmaster; adopted: boolean }> {
  let failure = '';
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const running = await settlePostmaster(options.clusterDir);
    if (running) return { postmaster: running, adopted: true };
    await clearStalePidFile(options.clusterDir);
    const launched = await launch(options, await freePort());
    if (typeof launched !== 'string') return { postmaster: launched, adopted: false };
    failure = launched;
    await sleep(attempt * 300);
  }
  throw new EmbeddedPostgresError(
    `Lintel's built-in PostgreSQL does not start on ${options.clusterDir}:
${failure}`,
  );
}

/** The running server, or what it said before it ended. */
async function launch(options: ServerOptions, port: number): Promise<Postmaster | string> {
  const messages = join(options.dataDir, 'postgres-start.log');
  const sink = openSync(messages, 'w', 0o600);
  const settings = { ...DEFAULT_SETTINGS, ...options.settings, port: String(port) };
  const child = spawn(
    join(options.nativeDir, 'bin', 'postgres'),
    [
      '-D',
      options.clusterDir,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    {
      uid: options.account.uid,
      gid: options.account.gid,
      cwd: '/',
      env: DATABASE_ENV,
      // Own session: Ctrl-C in the terminal must reach Lintel only, which drains first and then stops the database.
      detached: true,
      stdio: ['ignore', 'ignore', sink],
    },
  );
  closeSync(sink);
  child.unref();
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  child.once('error', () => {
    ended = true;
  });
  for (let waited = 0; waited < START_LIMIT_MS; waited += POLL_MS) {
    if (ended) return lastWords(messages, options.clusterDir);
    const found = findPostmaster(options.clusterDir);
    if (found?.pid === child.pid && found?.status === 'ready') return found;
    await sleep(POLL_MS);
  }
  return `It was not ready after ${START_LIMIT_MS / 1000} s.`;
}

function lastWords(messages: string, clusterDir: string): string {
  return [messages, ...newestLog(join(clusterDir, 'log'))]
    .flatMap((path) => readFileSync(path, 'utf8').trim().split('\n').slice(-10))
    .map((line) => `  ${line}`)
    .join('\n');
}

function newestLog(logDir: string): string[] {
  try {
    const paths = readdirSync(logDir).map((name) => join(logDir, name));
    return paths.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs).slice(0, 1);
  } catch {
    return [];
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('no port was given'));
      });
    });
  });
}

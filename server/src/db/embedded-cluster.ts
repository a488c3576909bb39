import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type DatabaseAccount, giveTo, runAs } from './embedded-account.ts';
import type { PostgresBinaries } from './embedded-binaries.ts';
import { cannotRunHere, EmbeddedPostgresError } from './embedded-error.ts';
import { createStaging, isErrno, moveIntoPlace } from './embedded-staging.ts';

export const OWNER_ROLE = 'lintel_owner';

export type ClusterPaths = {
  readonly dataDir: string;
  readonly clusterDir: string;
  readonly passwordFile: string;
};

export function clusterPaths(dataDir: string): ClusterPaths {
  return {
    dataDir,
    clusterDir: join(dataDir, 'postgres'),
    passwordFile: join(dataDir, 'postgres-password'),
  };
}

/** Directories that we make are open for passage whatever the umask, else the database's user could not get through. */
export function makeDataDir(dataDir: string): void {
  try {
    const firstMade = mkdirSync(dataDir, { recursive: true });
    if (firstMade === undefined) return;
    for (let made = dataDir; made.length >= firstMade.length; made = dirname(made)) chmodSync(made, 0o755);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw cannotRunHere(`The data directory ${dataDir} cannot be made: ${error.message}`);
  }
}

export function isInitialised({ clusterDir }: ClusterPaths): boolean {
  if (existsSync(join(clusterDir, 'PG_VERSION'))) return true;
  if (!existsSync(clusterDir) || readdirSync(clusterDir).length === 0) return false;
  throw new EmbeddedPostgresError(
    `${clusterDir} exists but holds no PostgreSQL data. Move it away, or set LINTEL_DATA_DIR to another directory.`,
  );
}

export function requireSameMajor({ clusterDir }: ClusterPaths, { version }: PostgresBinaries): void {
  const made = readFileSync(join(clusterDir, 'PG_VERSION'), 'utf8').trim();
  const shipped = version.split('.')[0];
  if (made === shipped) return;
  throw new EmbeddedPostgresError(
    `The data in ${clusterDir} was made by PostgreSQL ${made}, and this Lintel ships PostgreSQL ${shipped}.
Move it with pg_dump and pg_restore, or serve it with PostgreSQL ${made} and set DATABASE_URL.`,
  );
}

export function readPassword({ passwordFile, clusterDir }: ClusterPaths): string {
  try {
    return readFileSync(passwordFile, 'utf8').trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EmbeddedPostgresError(
      `The password of the database in ${clusterDir} cannot be read: ${reason}
Restore ${passwordFile} from a backup, or start Lintel as the user who owns it.`,
    );
  }
}

export type InitialiseOptions = {
  readonly paths: ClusterPaths;
  readonly binaries: PostgresBinaries;
  readonly account: DatabaseAccount;
  /** False only for throw-away clusters. */
  readonly durable: boolean;
};

export async function initialise({ paths, binaries, account, durable }: InitialiseOptions): Promise<void> {
  makePassword(paths);
  const staging = createStaging(paths.dataDir, 'postgres-init-');
  try {
    // initdb reads the password from a file as the database's user, who cannot read ours.
    writeFileSync(join(staging, 'password'), readPassword(paths), { mode: 0o600 });
    giveTo(account, staging);
    const made = join(staging, 'cluster');
    const flags = [
      `--pgdata=${made}`,
      `--username=${OWNER_ROLE}`,
      `--pwfile=${join(staging, 'password')}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The built-in provider: neither the machine's libc nor the bundled old ICU may ever decide an index order.
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      ...(durable ? [] : ['--no-sync']),
    ];
    const run = await runAs(account, join(binaries.nativeDir, 'bin', 'initdb'), flags);
    if (!run.ok) throw cannotRunHere(`initdb failed: ${run.output}`);
    moveIntoPlace(made, paths.clusterDir);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Made once and never replaced: it must be on disk before the cluster that it opens. */
function makePassword({ passwordFile }: ClusterPaths): void {
  const draft = `${passwordFile}.${process.pid}`;
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  writeFileSync(file, randomBytes(24).toString('base64url'));
  fsyncSync(file);
  closeSync(file);
  try {
    linkSync(draft, passwordFile);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft);
  }
}

import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/db/embedded-postgres.ts';
import { stopPostmaster } from '../../src/db/embedded-postmaster.ts';
import { isAlive } from '../../src/db/embedded-staging.ts';

export type TestCluster = { readonly ownerUrl: string; stop(): Promise<void> };

const PREFIX = 'lintel-test-';
const THROW_AWAY = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_connections: '300',
};

/** A PostgreSQL of its own in a fresh directory, quick instead of durable; gone after stop(). */
export async function startTestCluster(): Promise<TestCluster> {
  await removeAbandonedClusters();
  const dataDir = makeTestDir();
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined, settings: THROW_AWAY });
  return {
    ownerUrl: postgres.ownerUrl,
    stop: async () => {
      await postgres.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Passable for the database's user, who is another one when the tests run as root. */
export function makeTestDir(): string {
  const dir = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  chmodSync(dir, 0o755);
  return dir;
}

/** A killed test run leaves its server behind, as the embedded database is meant to outlive its owner. */
async function removeAbandonedClusters(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter(isAbandoned)) {
    const dir = join(tmpdir(), name);
    await stopPostmaster(join(dir, 'postgres'));
    remove(dir);
  }
}

/** Tidying up: what can not be removed (a killed run of the fault tests leaves a mount) is no reason to test nothing. */
function remove(dir: string): void {
  try {
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    console.error(`${dir} is left from an earlier run and can not be removed: ${String(error)}`);
  }
}

function isAbandoned(name: string): boolean {
  const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : Number.NaN;
  if (Number.isNaN(pid) || isAlive(pid)) return false;
  return statSync(join(tmpdir(), name), { throwIfNoEntry: false })?.uid === process.getuid?.();
}

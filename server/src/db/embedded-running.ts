import { clusterPaths, OWNER_ROLE, readPassword } from './embedded-cluster.ts';
import { settlePostmaster } from './embedded-postmaster.ts';

/** The owner's address of the PostgreSQL that a running service keeps in this data directory; null when none runs. */
export async function runningPostgresUrl(dataDir: string, database = 'lintel'): Promise<string | null> {
  const paths = clusterPaths(dataDir);
  const running = await settlePostmaster(paths.clusterDir);
  if (running === null) return null;
  return `postgresql://${OWNER_ROLE}:${readPassword(paths)}@127.0.0.1:${running.port}/${encodeURIComponent(database)}`;
}

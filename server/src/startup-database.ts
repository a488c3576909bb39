import { createServer } from 'node:net';
import type { Config } from './config.ts';
import { createDatabase, type Database, type DatabaseRole } from './db/database.ts';
import { startEmbeddedPostgres } from './db/embedded-postgres.ts';

export interface OpenedDatabase {
  /** As the owner: for migrations, and for the service, which steps down to its own role. Holds a password. */
  readonly ownerUrl: string;
  stop(): Promise<void>;
}

export interface DatabaseHooks {
  readonly log: (message: string) => void;
  readonly onLost: (reason: string) => void;
}

export async function openDatabase(config: Config, hooks: DatabaseHooks): Promise<OpenedDatabase> {
  if (config.databaseUrl !== null) return { ownerUrl: config.databaseUrl, stop: async () => undefined };
  return startEmbeddedPostgres({ dataDir: config.dataDir, ...hooks });
}

/** A short-lived pool for the work before the service exists. */
export async function withDatabase<T>(
  url: string,
  work: (db: Database) => Promise<T>,
  role: DatabaseRole = 'lintel_app',
): Promise<T> {
  const db = createDatabase({ url, maxConnections: 2, role, onError: () => undefined });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

/**
 * Fails as the service would later. The first run shows its secrets once and only when everything works, so that a
 * taken port must be noticed before it.
 */
export function requireFreePort(port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen({ port, host }, () => probe.close(() => resolve()));
  });
}

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

const migrationsDir = join(import.meta.dirname, '..', '..', 'migrations');

const CONNECT_MS = 10_000;

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

export class MigrationError extends Error {}

async function migrationFiles(): Promise<{ version: number; name: string }[]> {
  const names = (await readdir(migrationsDir)).filter((file) => /^\d{4}_.*\.sql$/.test(file)).sort();
  return names.map((name) => ({ version: Number(name.slice(0, 4)), name }));
}

async function readMigrations(): Promise<Migration[]> {
  const files = await migrationFiles();
  return Promise.all(
    files.map(async ({ version, name }) => {
      const text = await readFile(join(migrationsDir, name), 'utf8');
      return { version, name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

/** The migrations this build was written for. */
export async function migrationVersions(): Promise<number[]> {
  return (await migrationFiles()).map(({ version }) => version);
}

/** Brings the database forward as its owner. Several nodes may start at once: an advisory lock lets one work. */
export async function migrate(ownerUrl: string): Promise<{ applied: string[] }> {
  const client = new pg.Client({ connectionString: ownerUrl, connectionTimeoutMillis: CONNECT_MS });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('lintel migrations'))");
    await requireVersion(client);
    await client.query(`create table if not exists schema_migrations (
      version int primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`);
    return { applied: await applyMissing(client, await readMigrations()) };
  } finally {
    await client.end();
  }
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
  const version = Number(rows[0]?.server_version_num);
  if (version >= 150_000) return;
  const major = Math.floor(version / 10_000);
  throw new MigrationError(`PostgreSQL 15 or newer is needed; this one is ${major}.${version % 10_000}`);
}

async function applyMissing(client: pg.Client, migrations: readonly Migration[]): Promise<string[]> {
  const { rows } = await client.query<{ version: number; checksum: string }>(
    'select version, checksum from schema_migrations order by version',
  );
  const newest = rows.at(-1)?.version ?? 0;
  const ours = migrations.at(-1)?.version ?? 0;
  if (newest > ours) {
    throw new MigrationError(`the database is at version ${newest}, newer than this Lintel (${ours})`);
  }
  const done = new Map(rows.map((row) => [row.version, row.checksum]));
  const applied: string[] = [];
  for (const migration of migrations) {
    const known = done.get(migration.version);
    if (known !== undefined && known !== migration.checksum) {
      throw new MigrationError(
        `migration ${migration.name} was changed after it ran; write a new one instead`,
      );
    }
    if (known === undefined) {
      await apply(client, migration);
      applied.push(migration.name);
    }
  }
  return applied;
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
      migration.version,
      migration.name,
      migration.checksum,
    ]);
    await client.query(migration.text);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new MigrationError(`migration ${migration.name} failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

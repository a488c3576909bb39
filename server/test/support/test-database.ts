import { randomBytes } from 'node:crypto';
import pg from 'pg';

export const templateDatabase = 'lintel_template';

export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

export interface TestDatabase {
  /** As the owner, who sees every row. */
  readonly url: string;
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

/** A database of its own for one test file, cloned from the migrated template; from template0 it is an empty one. */
export async function createTestDatabase(
  ownerUrl: string,
  template: 'lintel_template' | 'template0' = templateDatabase,
): Promise<TestDatabase> {
  const name = `lintel_${randomBytes(6).toString('hex')}`;
  await asAdmin(ownerUrl, `create database ${name} template ${template}`);
  const opened = openTestDatabase(withDatabase(ownerUrl, name));
  return {
    ...opened,
    drop: async () => {
      await opened.drop();
      await asAdmin(ownerUrl, `drop database if exists ${name} with (force)`);
    },
  };
}

/** One that the caller made by other means, and that stays. */
export function openTestDatabase(url: string): TestDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  // Dropping with force ends our own idle connections as well: expected, not an error.
  pool.on('error', () => undefined);
  return {
    url,
    query: async (text, values) => (await pool.query(text, values)).rows,
    drop: () => pool.end(),
  };
}

async function asAdmin(ownerUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await retryWhileTemplateIsBusy(() => client.query(statement));
  } finally {
    await client.end();
  }
}

/** Two files may clone at the same moment; PostgreSQL then refuses one of them for an instant. */
async function retryWhileTemplateIsBusy(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.code !== '55006' || attempt > 100) throw error;
      await new Promise((resume) => setTimeout(resume, 50));
    }
  }
}

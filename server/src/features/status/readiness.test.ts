import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { withDatabase } from '../../../test/support/test-database.ts';
import { migrationVersions } from '../../db/migrate.ts';
import { systemClock } from '../../kernel/clock.ts';
import { createReadiness } from './readiness.service.ts';

describe('readiness', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const readyz = async () => {
    const answer = await app.app.http.inject('/readyz');
    return { status: answer.statusCode, body: answer.json() as unknown };
  };
  const problemsFor = (versions: () => Promise<number[]>) =>
    createReadiness({ db: app.app.db, clock: systemClock, migrationVersions: versions }).problems();

  it('is given when the database answers, is current and has a partition for tomorrow', async () => {
    expect(await readyz()).toEqual({ status: 200, body: { status: 'ready' } });
  });

  it('names the migrations that have not run', async () => {
    const versions = await migrationVersions();
    const next = versions.length + 1;
    expect(await problemsFor(async () => [...versions, next])).toEqual([`migration ${next} has not run`]);
  });

  it('does not mind a database that a newer node has brought forward', async () => {
    const versions = await migrationVersions();
    expect(await problemsFor(async () => versions.slice(0, -1))).toEqual([]);
  });

  it('misses the partition for tomorrow', async () => {
    const tomorrow = "to_char((now() at time zone 'UTC')::date + 1, 'YYYYMMDD')";
    await app.db.query(`do $$ begin execute 'drop table audit_events_' || ${tomorrow}; end $$`);
    expect(await problemsFor(migrationVersions)).toEqual(['there is no audit partition for tomorrow']);
  });

  it('looks at the database once a second, however often it is asked', async () => {
    let looks = 0;
    let now = 0;
    const readiness = createReadiness({
      db: app.app.db,
      clock: { ...systemClock, monotonicMs: () => now },
      migrationVersions: async () => {
        looks += 1;
        return [];
      },
    });
    await Promise.all([readiness.problems(), readiness.problems()]);
    now = 999;
    await readiness.problems();
    expect(looks).toBe(1);
    now = 1000;
    await readiness.problems();
    expect(looks).toBe(2);
  });

  it('is denied while the database is away; the process lives on', async () => {
    const lost = await startTestApp();
    const name = new URL(lost.db.url).pathname.slice(1);
    const admin = withDatabase(lost.db.url, 'postgres');
    await queryOnce(admin, `alter database ${name} allow_connections false`);
    await queryOnce(admin, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      name,
    ]);
    const answer = await lost.app.http.inject('/readyz');
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toEqual({ status: 'not_ready', reasons: [expect.any(String)] });
    expect((await lost.app.http.inject('/healthz')).json()).toMatchObject({ status: 'ok' });
    await queryOnce(admin, `alter database ${name} allow_connections true`);
    await lost.close();
  });
});

async function queryOnce(url: string, text: string, values: unknown[] = []): Promise<void> {
  const { Client } = await import('pg');
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text, values);
  await client.end();
}

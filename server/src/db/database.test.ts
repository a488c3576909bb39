import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts';
import { createDatabase, type Database } from './database.ts';
import { sql } from './sql.ts';
import { usualAnswerMs } from './turns.ts';

describe('a process that stands still', () => {
  let test: TestDatabase;
  let db: Database;

  beforeAll(async () => {
    test = await createTestDatabase(inject('ownerUrl'));
    db = createDatabase({ url: test.url, maxConnections: 1, onError: () => undefined });
  });
  afterAll(async () => {
    await db.close();
    await test.drop();
  });

  const answer = () => db.direct.query({ ...sql`select 1 as one from pg_sleep(0.2)`, isUrgent: true });
  /** Where Node looks for timers that are due, before it reads what came meanwhile. */
  async function standStill(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    const until = performance.now() + usualAnswerMs + 500;
    while (performance.now() < until);
  }

  it('still gets the connection it asked for', async () => {
    const asked = answer();
    await standStill();
    expect(await asked).toEqual([{ one: 1 }]);
  });

  it('still gets the answer it asked for', async () => {
    const asked = answer();
    // The connection is there already: after this the statement is under way.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await standStill();
    expect(await asked).toEqual([{ one: 1 }]);
    expect(db.isSilent()).toBe(false);
  });
});

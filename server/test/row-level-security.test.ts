// Test 34 of design/reliability.md: what the database keeps apart by itself, should a query ever forget the organization.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { createSharedRow } from './faults/shared-row.ts';
import {
  catalogViolations,
  type RowCheck,
  readViolations,
  type ServiceRole,
  serviceRole,
  tenantTables,
  writeViolations,
} from './support/row-security.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { createTestDatabase, type TestDatabase } from './support/test-database.ts';
import { createWorld } from './support/test-world.ts';

const row = createSharedRow(34, 'RLS backstop');
let [looked, read, tried] = [0, 0, 0];
afterAll(() => row.write(`${looked} tables, ${read} read in 4 scopes, ${tried} forbidden writes`));

describe('row-level security', () => {
  let app: TestApp;
  let service: ServiceRole;
  let check: RowCheck;

  beforeAll(async () => {
    app = await startTestApp();
    service = await serviceRole(app.db.url);
    check = { db: app.db, service, mine: await populated(), theirs: await populated() };
  });
  afterAll(async () => {
    await service.end();
    await app.close();
  });

  async function populated(): Promise<string> {
    const orgId = await app.world.org();
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, 'admin');
    const { token } = await app.world.key(orgId, userId);
    const { entityId } = await app.world.building(orgId);
    await app.world.agent(orgId, userId);
    await app.request('POST', `/entities/${entityId}/actions/open`, { token, body: {} });
    return orgId;
  }

  it('is forced on every table with an organization, partitions too, and has a policy wherever the service can reach', async () => {
    const tables = await tenantTables(app.db);
    looked = tables.length;
    read = tables.filter(({ readable }) => readable).length;
    expect(tables.length).toBeGreaterThan(15);
    expect(tables.some(({ name }) => /^audit_events_\d{8}$/.test(name))).toBe(true);
    expect(row.found(await catalogViolations(app.db))).toEqual([]);
  });

  it('shows nothing at all when no organization is named, and else no other’s rows', async () => {
    // Without rows the rest would prove nothing.
    for (const table of ['orgs', 'api_keys', 'entities', 'audit_events', 'intents'])
      expect(await app.db.query(`select from ${table} limit 1`), table).toHaveLength(1);
    expect(row.found(await readViolations(check))).toEqual([]);
    const { mine, theirs } = check;
    const both = await service.query<{ id: string }>(`${mine},${theirs}`, 'select id from orgs order by id');
    expect(both.map(({ id }) => id)).toEqual([mine, theirs].sort());
  });

  it('lets no row be written for another organization, and leaves what was audited as it is', async () => {
    const result = await writeViolations(check);
    tried = result.tried;
    expect(row.found(result.found)).toEqual([]);
  });
});

describe('the check of row-level security notices', () => {
  let db: TestDatabase;
  let service: ServiceRole;
  let check: RowCheck;

  beforeEach(async () => {
    db = await createTestDatabase(inject('ownerUrl'));
    service = await serviceRole(db.url);
    check = { db, service, mine: await populated(), theirs: await populated() };
  });
  afterEach(async () => {
    await service.end();
    await db.drop();
  });

  async function populated(): Promise<string> {
    const world = createWorld(db);
    const orgId = await world.org();
    await world.building(orgId);
    return orgId;
  }

  const violations = async (): Promise<string[]> => [
    ...(await catalogViolations(db)),
    ...(await readViolations(check)),
    ...(await writeViolations(check)).found,
  ];

  it('nothing when nothing is wrong', async () => {
    expect(await violations()).toEqual([]);
  });

  it.each<[string, string, RegExp]>([
    [
      'a table whose security is not forced',
      'alter table devices no force row level security',
      /^devices: row-level security is not forced$/m,
    ],
    [
      'a table without a policy',
      `create table guests (org_id text primary key); alter table guests enable row level security;
       alter table guests force row level security; grant select on guests to lintel_app`,
      /^guests has no policy$/m,
    ],
    [
      'a policy that lets everything pass',
      'create policy everything on entities using (true)',
      /^entities has a policy by something else: true(.|\n)*^entities shows rows to no scope$/m,
    ],
    [
      'a right to change what was audited',
      'grant update on audit_events to lintel_app',
      /^what was audited can be written: update/m,
    ],
    [
      'a partition that can be reached past its parent',
      `do $$ begin execute format('grant select on %s to lintel_app',
         (select inhrelid::regclass from pg_inherits where inhparent = 'audit_events'::regclass limit 1)); end $$`,
      /^audit_events_\w+ can be reached past its parent$/m,
    ],
  ])('%s', async (name, statements, expected) => {
    await db.query(statements);
    const found = row.mutant(name, await violations());
    expect(found.join('\n')).toMatch(expected);
  });
});

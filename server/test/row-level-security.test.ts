// Read from the catalog, so that a table added later is covered without a line here.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ulid } from '../src/kernel/ulid.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

interface TenantTable {
  readonly name: string;
  readonly forced: boolean;
  readonly policies: number;
  readonly readable: boolean;
  readonly writable: boolean;
}

const tenantTables = `
  select c.oid::regclass::text as name, c.relrowsecurity and c.relforcerowsecurity as forced,
    (select count(*)::int from pg_policy p where p.polrelid = c.oid) as policies,
    has_table_privilege('lintel_app', c.oid, 'select') as readable,
    has_table_privilege('lintel_app', c.oid, 'insert, update, delete, truncate') as writable
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
    and (c.oid = 'public.orgs'::regclass or exists (
      select from pg_attribute a where a.attrelid = c.oid and a.attname = 'org_id' and not a.attisdropped))
  order by 1`;

describe('row-level security', () => {
  let app: TestApp;
  let tables: TenantTable[];
  let mine: string;
  let theirs: string;
  /** The role of the service, with nothing else in between. */
  let service: pg.Client;

  beforeAll(async () => {
    app = await startTestApp();
    tables = await app.db.query(tenantTables);
    service = new pg.Client({ connectionString: app.db.url });
    await service.connect();
    await service.query('set role lintel_app');
    mine = await populated();
    theirs = await populated();
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

  const scoped = async <T extends pg.QueryResultRow>(
    scope: string | null,
    text: string,
    values?: unknown[],
  ) => {
    await service.query('begin');
    if (scope !== null) await service.query("select set_config('lintel.org', $1, true)", [scope]);
    try {
      return (await service.query<T>(text, values)).rows;
    } finally {
      await service.query('rollback');
    }
  };
  const reached = () => tables.filter(({ readable, writable }) => readable || writable);
  const keyOf = (table: string) => (table === 'orgs' ? 'id' : 'org_id');

  it('is forced on every table with an organization, partitions too', () => {
    expect(tables.length).toBeGreaterThan(15);
    expect(tables.some(({ name }) => /^audit_events_\d{8}$/.test(name))).toBe(true);
    expect(tables.filter(({ forced }) => !forced)).toEqual([]);
  });

  it('has a policy wherever the service’s role can reach, and else no right at all', () => {
    expect(reached().filter(({ policies }) => policies === 0)).toEqual([]);
    const partitions = tables.filter(({ name }) => name.startsWith('audit_events_'));
    expect(partitions.filter(({ readable, writable }) => readable || writable)).toEqual([]);
  });

  it('shows nothing at all when no organization is named', async () => {
    const counts = await Promise.all(
      reached().map(async ({ name }) => {
        const [row] = await app.db.query<{ count: string }>(`select count(*) from ${name}`);
        return [name, Number(row?.count)] as const;
      }),
    );
    // Without rows the rest would prove nothing.
    const filled = counts.filter(([, count]) => count > 0).map(([name]) => name);
    expect(filled).toEqual(
      expect.arrayContaining(['orgs', 'api_keys', 'entities', 'audit_events', 'intents']),
    );
    for (const { name } of reached()) {
      for (const scope of [null, '', ulid()])
        expect(await scoped(scope, `select 1 from ${name} limit 1`), `${name} ${scope}`).toEqual([]);
    }
  });

  it('shows one organization’s rows and no other’s', async () => {
    for (const { name } of reached()) {
      const key = keyOf(name);
      const seen = await scoped<{ key: string }>(mine, `select distinct ${key} as key from ${name}`);
      expect(
        seen.filter((row) => row.key !== mine),
        name,
      ).toEqual([]);
    }
    const both = await scoped<{ id: string }>(`${mine},${theirs}`, 'select id from orgs order by id');
    expect(both.map(({ id }) => id)).toEqual([mine, theirs].sort());
  });

  it('does not let a row be written for another organization', async () => {
    const violation = expect.objectContaining({ code: '42501' });
    const event = `insert into audit_events (org_id, id, event_type, outcome, source, actor_kind)
      values ($1, $2, 'org.updated', 'succeeded', 'system', 'system')`;
    await scoped(mine, event, [mine, ulid()]);
    await expect(scoped(mine, event, [theirs, ulid()])).rejects.toEqual(violation);
    const move = 'update entities set org_id = $1';
    await expect(scoped(mine, move, [theirs])).rejects.toEqual(violation);
  });

  it('leaves what was audited as it is: no change, no removal, no emptying', async () => {
    const denied = expect.objectContaining({ code: '42501' });
    for (const text of [
      "update audit_events set outcome = 'succeeded'",
      'delete from audit_events',
      'truncate audit_events',
      'alter table audit_events no force row level security',
      'drop table audit_events',
    ]) {
      await expect(scoped('*', text), text).rejects.toEqual(denied);
    }
  });
});

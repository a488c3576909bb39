import type { TestDatabase } from './test-database.ts';

/** Table name → hash over all its rows. */
export type Snapshot = ReadonlyMap<string, string>;

/**
 * Not part of what a request may leave alone: the audit log has its own checks; the last use of a key is written for
 * every authenticated request, some time later; a door that was opened reports by itself that it closed; a node
 * renews what it holds every few seconds; and the service notes what it is to open and close by itself.
 */
const ignored = new Set([
  'public.audit_events',
  'public.close_jobs',
  'public.connection_leases',
  'public.entity_states',
  'public.held_open',
  'public.hold_jobs',
  'public.key_uses',
  'public.nodes',
  'public.schema_migrations',
]);

/** What is due the service deletes by itself, some time later. */
const rowsOf = (table: string): string =>
  `select * from ${table}${table === 'public.unused_objects' ? ' where due_at > now()' : ''}`;

interface Table {
  readonly name: string;
  readonly has_org: boolean;
}

async function tablesOf(db: TestDatabase): Promise<Table[]> {
  const tables = await db.query<Table>(`
    select n.nspname || '.' || c.relname as name, exists (
      select from pg_attribute a where a.attrelid = c.oid and a.attname = 'org_id' and not a.attisdropped) as has_org
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('public', 'identity', 'secrets') and c.relkind in ('r', 'p') and not c.relispartition
    order by 1`);
  return tables.filter(({ name }) => !ignored.has(name));
}

async function hashes(db: TestDatabase, sources: readonly (readonly [string, string])[]): Promise<Snapshot> {
  const parts = sources.map(
    ([name, rows]) => `select '${name}' as name, count(*) || ':' || coalesce(md5(string_agg(md5(t::text), ''
      order by md5(t::text))), '') as hash from (${rows}) t`,
  );
  const found = await db.query<{ name: string; hash: string }>(parts.join(' union all '));
  return new Map(found.map(({ name, hash }) => [name, hash]));
}

export async function snapshotDatabase(db: TestDatabase): Promise<Snapshot> {
  const tables = await tablesOf(db);
  return hashes(
    db,
    tables.map(({ name }) => [name, rowsOf(name)]),
  );
}

/** Everything that belongs to one organization, its people and what is below it included, but for `home`. */
export async function snapshotTenant(db: TestDatabase, orgId: string, home: string): Promise<Snapshot> {
  const tables = (await tablesOf(db)).filter((table) => table.has_org);
  const members = `select user_id from role_grants where org_id = '${orgId}'`;
  return hashes(db, [
    ...tables.map(({ name }) => [name, `select * from ${name} where org_id = '${orgId}'`] as const),
    ['public.orgs', `select * from orgs where '${orgId}' = any (path) and not '${home}' = any (path)`],
    ['public.users', `select * from users where id in (${members})`],
  ]);
}

export function changedTables(before: Snapshot, after: Snapshot): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name)).sort();
}

/** Ids of everything in one organization, of the people who belong to it alone, and of what is below it but not in `home`. */
export async function idsOfTenant(db: TestDatabase, orgId: string, home: string): Promise<Set<string>> {
  const withIds = await db.query<{ name: string }>(`
    select c.table_schema || '.' || c.table_name as name from information_schema.columns c
    join information_schema.columns o using (table_schema, table_name)
    where c.table_schema = 'public' and c.column_name = 'id' and o.column_name = 'org_id'
      and c.table_name not like 'audit_events%'`);
  const own = withIds.map(({ name }) => `select id from ${name} where org_id = $1`);
  const people = `select g.user_id from role_grants g where g.org_id = $1 and not exists (
    select from role_grants o where o.user_id = g.user_id and o.org_id <> $1)`;
  const below = `select id from orgs where $1 = any (path) and not $2 = any (path)`;
  const rows = await db.query<{ id: string }>([...own, people, below].join(' union '), [orgId, home]);
  return new Set(rows.map(({ id }) => id));
}

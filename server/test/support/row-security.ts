// What the database itself keeps apart, read from its catalog, so that a table added later is covered without a line here.
import pg from 'pg';
import { ulid } from '../../src/kernel/ulid.ts';
import type { TestDatabase } from './test-database.ts';

export interface TenantTable {
  readonly name: string;
  readonly forced: boolean;
  /** What each policy lets be seen and written, as PostgreSQL prints it. */
  readonly policies: readonly string[];
  readonly readable: boolean;
  readonly writable: boolean;
}

export function tenantTables(db: TestDatabase): Promise<TenantTable[]> {
  return db.query(`
    select c.oid::regclass::text as name, c.relrowsecurity and c.relforcerowsecurity as forced,
      array(select format('%s / %s', pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid))
        from pg_policy p where p.polrelid = c.oid and p.polpermissive) as policies,
      has_table_privilege('lintel_app', c.oid, 'select') as readable,
      has_table_privilege('lintel_app', c.oid, 'insert, update, delete, truncate') as writable
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_'
      and (c.oid = 'public.orgs'::regclass or exists (
        select from pg_attribute a where a.attrelid = c.oid and a.attname = 'org_id' and not a.attisdropped))
    order by 1`);
}

const isReached = ({ readable, writable }: TenantTable): boolean => readable || writable;

const keyOf = (table: string): string => (table === 'orgs' ? 'id' : 'org_id');

/** Asks for the organization that is named. A policy that does not is of no use, and policies add up. */
function isByOrganization(table: string, policy: string): boolean {
  const rule = `visible_org(${keyOf(table)})`;
  if (policy === `${rule} / ${rule}`) return true;
  // Events are read for a whole tree of organizations: by a list instead of a function for every row.
  return table === 'audit_events' && /lintel\.org.*org_id IN .*\/ visible_org\(org_id\)$/s.test(policy);
}

export async function catalogViolations(db: TestDatabase): Promise<string[]> {
  const tables = await tenantTables(db);
  return [
    ...tables.filter(({ forced }) => !forced).map(({ name }) => `${name}: row-level security is not forced`),
    ...tables
      .filter((table) => isReached(table) && table.policies.length === 0)
      .map(({ name }) => `${name} has no policy`),
    ...tables.flatMap(({ name, policies }) =>
      policies
        .filter((policy) => !isByOrganization(name, policy))
        .map((policy) => `${name} has a policy by something else: ${policy}`),
    ),
    ...tables
      .filter((table) => table.name.startsWith('audit_events_') && isReached(table))
      .map(({ name }) => `${name} can be reached past its parent`),
  ];
}

/** The role of the service, with nothing else in between. What it does is undone. */
export interface ServiceRole {
  /** `scope`: the organizations that are named; null when none is. */
  query<T extends pg.QueryResultRow>(scope: string | null, text: string, values?: unknown[]): Promise<T[]>;
  end(): Promise<void>;
}

export async function serviceRole(url: string): Promise<ServiceRole> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('set role lintel_app');
  return {
    async query<T extends pg.QueryResultRow>(scope: string | null, text: string, values?: unknown[]) {
      await client.query('begin');
      if (scope !== null) await client.query("select set_config('lintel.org', $1, true)", [scope]);
      try {
        return (await client.query<T>(text, values)).rows;
      } finally {
        await client.query('rollback');
      }
    },
    end: () => client.end(),
  };
}

export interface RowCheck {
  readonly db: TestDatabase;
  readonly service: ServiceRole;
  /** Two organizations with rows of their own. */
  readonly mine: string;
  readonly theirs: string;
}

/** Tables that show rows when no organization is named, or those of another one. */
export async function readViolations({ db, service, mine }: RowCheck): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of (await tenantTables(db)).filter(({ readable }) => readable)) {
    for (const scope of [null, '', ulid()]) {
      const rows = await service.query(scope, `select 1 from ${name} limit 1`);
      if (rows.length > 0) found.push(`${name} shows rows to ${scope === null ? 'no scope' : `'${scope}'`}`);
    }
    const text = `select distinct ${keyOf(name)} as key from ${name}`;
    const seen = await service.query<{ key: string }>(mine, text);
    if (seen.some((row) => row.key !== mine)) found.push(`${name} shows rows of another organization`);
  }
  return found;
}

const auditEvent = `insert into audit_events (org_id, id, event_type, outcome, source, actor_kind)
  values ($1, $2, 'org.updated', 'succeeded', 'system', 'system')`;

interface Attempt {
  readonly what: string;
  readonly scope: string;
  readonly text: string;
  readonly values?: unknown[];
}

/** Statements that the role of the service must not be able to run. */
function forbiddenWrites({ mine, theirs }: Pick<RowCheck, 'mine' | 'theirs'>): Attempt[] {
  const foreign = { what: 'a row of another organization', scope: mine };
  // Whichever organization is named.
  const audited = { what: 'what was audited', scope: '*' };
  return [
    { ...foreign, text: auditEvent, values: [theirs, ulid()] },
    { ...foreign, text: 'update entities set org_id = $1', values: [theirs] },
    { ...audited, text: "update audit_events set outcome = 'succeeded'" },
    { ...audited, text: 'delete from audit_events' },
    { ...audited, text: 'truncate audit_events' },
    { ...audited, text: 'alter table audit_events no force row level security' },
    { ...audited, text: 'drop table audit_events' },
  ];
}

/** Those of them that passed, or were refused for another reason. */
export async function writeViolations(check: RowCheck): Promise<{ found: string[]; tried: number }> {
  const attempts = forbiddenWrites(check);
  const found: string[] = [];
  for (const attempt of attempts) found.push(...(await attemptProblems(check.service, attempt)));
  // That the others are refused says something only because the same is taken for the own organization.
  await check.service.query(check.mine, auditEvent, [check.mine, ulid()]);
  return { found, tried: attempts.length };
}

async function attemptProblems(
  service: ServiceRole,
  { what, scope, text, values = [] }: Attempt,
): Promise<string[]> {
  try {
    await service.query(scope, text, values);
    return [`${what} can be written: ${text.slice(0, 60)}`];
  } catch (error) {
    const code = error instanceof pg.DatabaseError ? error.code : String(error);
    return code === '42501' ? [] : [`${what}: ${text.slice(0, 60)} fails with ${code}`];
  }
}

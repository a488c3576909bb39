// Members that no request declares and some record has: refused by name, or else without a trace in the database.
import type { TSchema } from 'typebox';
import { ulid } from '../../src/kernel/ulid.ts';
import { type Prepared, pathOf, type Stage, scenarios } from './scenario.ts';
import { type RawAnswer, refusalProblems, sendRaw } from './scenario-bad-input.ts';
import { gather } from './scenario-parallel.ts';
import { everyOperation, type Operation } from './scenario-world.ts';
import type { TestDatabase } from './test-database.ts';

export type BodyOperation = Operation & { readonly body: TSchema };

export function takesBody(operation: Operation): operation is BodyOperation {
  return operation.body !== undefined;
}

/** What people have got into records elsewhere, by names that nothing here has. */
const folklore = [
  'is_admin',
  'admin',
  'is_root',
  'superuser',
  'roles',
  'owner',
  'tenant_id',
  'password_hash',
];

/** Everything that any answer has, every column there is, and some folklore. */
export async function privilegedNames(db: TestDatabase): Promise<string[]> {
  const columns = await db.query<{ name: string }>(
    `select distinct column_name as name from information_schema.columns
     where table_schema in ('public', 'identity', 'secrets')`,
  );
  const names = new Set([...folklore, ...columns.map(({ name }) => name)]);
  for (const { responses } of everyOperation) addPropertyNames(Object.values(responses), names);
  return [...names].sort();
}

function addPropertyNames(schema: unknown, names: Set<string>): void {
  if (typeof schema !== 'object' || schema === null) return;
  const properties: unknown = Reflect.get(schema, 'properties');
  for (const name of Object.keys(properties ?? {})) names.add(name);
  for (const part of Object.values(schema)) addPropertyNames(part, names);
}

/** Values that fit their names and are found again wherever they end up. */
const smuggled = {
  instant: '2001-02-03T04:05:06.789Z',
  id: ulid(),
  text: `smuggled ${ulid()}`,
};
const traces = ['%2001-02-03%04:05:06%', `%${smuggled.id}%`, `%${smuggled.text}%`];

function valueFor(name: string): unknown {
  if (/_at$|^at$/.test(name)) return smuggled.instant;
  if (/(^|_)id$/.test(name)) return smuggled.id;
  if (/(^|_)ids$/.test(name)) return [smuggled.id];
  return smuggled.text;
}

export interface MassAssignment {
  readonly stage: Stage;
  readonly operation: BodyOperation;
  readonly names: readonly string[];
}

export interface MassAssigned {
  readonly found: string[];
  readonly tried: number;
}

/** An otherwise valid body with each of the names in turn. */
export async function massAssignmentViolations(check: MassAssignment): Promise<MassAssigned> {
  const { stage, operation } = check;
  const prepared = await scenarios[operation.id].prepare(stage);
  const declared = Object.keys((Reflect.get(operation.body, 'properties') as object | undefined) ?? {});
  const names = check.names.filter((name) => !declared.includes(name));
  const found = await gather(names, 4, async (name) => {
    const answer = await sendRaw(stage.app, requestWith(check, prepared, name));
    return memberProblems(operation, name, answer).map((problem) => `${operation.id}, ${name}: ${problem}`);
  });
  const left = await tracesIn(stage.app.db);
  return {
    found: [...found, ...left.map((table) => `${operation.id}: persisted in ${table}`)],
    tried: names.length,
  };
}

function requestWith({ operation, stage }: MassAssignment, prepared: Prepared, name: string) {
  return {
    method: operation.method,
    path: pathOf(operation.path, prepared),
    headers: { ...stage.actor.headers, ...prepared.headers, 'content-type': 'application/json' },
    payload: JSON.stringify({ ...(prepared.body as object | undefined), [name]: valueFor(name) }),
  };
}

/** A closed body is refused by the name of the member; an open one may be taken. */
function memberProblems({ body }: BodyOperation, name: string, answer: RawAnswer): string[] {
  const isClosed = Reflect.get(body, 'additionalProperties') === false;
  if (!isClosed) return answer.status < 300 ? [] : refusalProblems(answer);
  if (answer.status !== 400) return [`answered ${answer.status}: ${answer.text}`];
  return answer.paths.includes(`/${name}`) ? [] : [`refused for something else: ${answer.text}`];
}

async function tracesIn(db: TestDatabase): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('public', 'identity', 'secrets') and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  const looks = tables.map(
    ({ name }) => `select '${name}' as name where exists (select from ${name} t where t::text like any ($1))`,
  );
  const found = await db.query<{ name: string }>(looks.join(' union all '), [traces]);
  return found.map(({ name }) => name);
}

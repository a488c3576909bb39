// Unique values in the places of secrets, and the search for them everywhere else.
import { randomBytes } from 'node:crypto';
import type { TestDatabase } from './test-database.ts';

/** Holds what looks different in an address, in JSON and in markup. */
export const newCanary = (name: string): string => `${name} "&/+<${randomBytes(12).toString('hex')}`;

export interface Sink {
  readonly name: string;
  readonly text: string;
}

/** `sink: canary as form`, for every canary that is found. */
export function findCanaries(sinks: readonly Sink[], canaries: ReadonlyMap<string, string>): string[] {
  const needles = [...canaries].flatMap(([name, value]) =>
    formsOf(value).map(([form, needle]) => ({ label: `${name} as ${form}`, needle })),
  );
  return sinks.flatMap(({ name, text }) => {
    const lower = text.toLowerCase();
    const found = needles.filter(({ needle }) => lower.includes(needle.toLowerCase()));
    return found.map(({ label }) => `${name}: ${label}`);
  });
}

function formsOf(value: string): (readonly [form: string, needle: string])[] {
  const bytes = Buffer.from(value);
  return [
    ['text', value],
    // Its last part alone gives away more than enough.
    ['part', value.slice(-16)],
    ['JSON', JSON.stringify(value).slice(1, -1)],
    ['address', encodeURIComponent(value)],
    ['form', new URLSearchParams({ x: value }).toString().slice(2)],
    ['hex', bytes.toString('hex')],
    ...[0, 1, 2].flatMap((offset) => base64Forms(bytes, offset)),
  ];
}

/** Behind so many other bytes; the ends, which depend on the neighbours, are cut off. */
function base64Forms(bytes: Buffer, offset: number): (readonly [string, string])[] {
  const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
  const cut = (text: string) => text.slice(offset === 0 ? 0 : 4, Math.floor(shifted.length / 3) * 4);
  return [
    [`base64+${offset}`, cut(shifted.toString('base64'))],
    [`base64url+${offset}`, cut(shifted.toString('base64url'))],
  ];
}

/** Every row of every table of ours, by the catalogue: a new table is looked at without being named. */
export async function dumpTables(db: TestDatabase): Promise<Sink[]> {
  const tables = await db.query<{ name: string }>(`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema') order by 1`);
  const sinks: Sink[] = [];
  for (const { name } of tables) {
    const rows = await db.query<{ line: string }>(`select t::text as line from ${name} t`);
    sinks.push({ name: `table ${name}`, text: rows.map(({ line }) => line).join('\n') });
  }
  return sinks;
}

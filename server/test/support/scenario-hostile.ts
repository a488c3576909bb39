// Bodies that no honest client sends, made from an operation's schema and one valid body.
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';
import fc from 'fast-check';
import type { TSchema } from 'typebox';

/** Fixed, so that a failing run repeats itself; another one, with more runs, is for hunting. */
export const hostileSeed = Number(process.env.FUZZ_SEED ?? 20_261_115);

export interface HostileBody {
  readonly label: string;
  /** The body as it goes over the wire. */
  readonly text: string;
  /** The same member twice, which no schema can tell. */
  readonly isTwice?: true;
}

const ajv = formatsPlugin.default(new Ajv2020({ strict: false, validateFormats: true }));

/** Whether the contract refuses a body; a second opinion beside the server's own validation. */
export function refuser(schema: TSchema): (body: HostileBody) => boolean {
  const validate = ajv.compile(schema);
  return ({ text, isTwice }) => {
    const value: unknown = JSON.parse(text);
    return isTwice === true || !validate(value) || !isStorable(value);
  };
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(
    ([key, member]) => key !== '__proto__' && isStorable(key) && isStorable(member),
  );
}

/** Texts that broke something somewhere: storage, display, parsing, queries, regular expressions. */
const hostileTexts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'tail\udfff',
  '\u202egnp.exe',
  '\u200b',
  '\ufeff',
  'line\nbreak',
  '\u{e0041}',
  "' or 1=1 --",
  '%',
  '_',
  '\\',
  '#{7*7}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'null',
  'P1D',
  'P999999999999999999999Y',
  '9'.repeat(400),
  '-1d',
  '2020-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '275761-01-01T00:00:00Z',
  '2020-02-30T00:00:00Z',
  '01ARZ3NDEKTSV4RRFFQ69G5FA',
  '01arz3ndektsv4rrffq69g5fav',
  '8ZZZZZZZZZZZZZZZZZZZZZZZZZ',
  '01ARZ3NDEKTSV4RRFFQ69G5FAV0',
  'x@',
  '@'.repeat(100),
  'a@b.c\r\nBcc: d@e.f',
  'İstanbul ﬃ ẞ',
  '👩‍👩‍👧‍👦',
  'e\u0301'.repeat(60),
  'x'.repeat(100_000),
] as const;

/** As JSON text, because a number may be too large to be a value here. */
const hostileNumbers = ['-1', '0', '-0', '1.5', '1e309', '-1e309', '1e21', '9007199254740993', '5e-324'];

const hostileValue: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...hostileTexts).map((text) => JSON.stringify(text)) },
  { weight: 2, arbitrary: fc.constantFrom(...hostileNumbers) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('null', 'true', 'false', '[]', '{}', '[[]]', '[null]', '[{}]', '{"en":null}'),
  },
  { weight: 1, arbitrary: fc.constantFrom(nested('[', ']', 31), nested('{"a":', '}', 31)) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)) },
  {
    weight: 1,
    arbitrary: fc.constant(JSON.stringify(Array.from({ length: 5000 }, (_, index) => `v${index}`))),
  },
);

export function nested(open: string, close: string, depth: number): string {
  return `${open.repeat(depth)}1${close.repeat(depth)}`.replace('{"a":}', '{}');
}

/** Members that would matter if they were taken over unseen. */
const extraMembers = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'org_id',
  'owner_user_id',
  'created_by_user_id',
  'is_admin',
  'role',
  'scoped_roles_',
  'secret_hash',
  'deleted_at',
  'revoked_at',
  '',
  '\0',
  '\ud800',
  'x'.repeat(10_000),
];

type Members = readonly (readonly [key: string, text: string])[];

const membersOf = (valid: unknown): Members =>
  typeof valid === 'object' && valid !== null && !Array.isArray(valid)
    ? Object.entries(valid).map(([key, value]) => [key, JSON.stringify(value)] as const)
    : [];

const writeObject = (members: Members): string =>
  `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;

/** The valid body with one thing wrong, or something else in its place. */
export function hostileBodies(schema: TSchema, valid: unknown): fc.Arbitrary<HostileBody> {
  const members = membersOf(valid);
  const declared = Object.keys((Reflect.get(schema, 'properties') as object | undefined) ?? {});
  const names = [...new Set([...declared, ...members.map(([key]) => key)])];
  const put = (key: string, text: string) =>
    writeObject([...members.filter(([name]) => name !== key), [key, text]]);
  const whole = hostileValue.map((text) => ({ label: 'another body', text }));
  const extra = fc
    .tuple(fc.constantFrom(...extraMembers), hostileValue)
    .map(([key, text]) => ({ label: `extra member ${key.slice(0, 20)}`, text: put(key, text) }));
  if (names.length === 0) return fc.oneof(whole, extra);
  const member = fc
    .tuple(fc.constantFrom(...names), hostileValue)
    .map(([key, text]) => ({ label: `member ${key}`, text: put(key, text) }));
  const missing = fc
    .constantFrom(...names)
    .map((key) => ({ label: `without ${key}`, text: writeObject(members.filter(([name]) => name !== key)) }));
  const twice = fc.tuple(fc.constantFrom(...names), hostileValue).map(([key, text]) => ({
    label: `${key} twice`,
    text: writeObject([[key, text], ...members.filter(([name]) => name !== key), [key, text]]),
    isTwice: true as const,
  }));
  return fc.oneof(
    { weight: 5, arbitrary: member },
    { weight: 2, arbitrary: extra },
    { weight: 1, arbitrary: missing },
    { weight: 1, arbitrary: twice },
    { weight: 1, arbitrary: whole },
  );
}

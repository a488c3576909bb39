// What is wrong beside the body: its framing, the address, the query, the headers and the credentials.
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';
import type { TObject, TSchema } from 'typebox';
import { type Prepared, pathOf } from './scenario.ts';
import {
  type RawAnswer,
  type RawRequest,
  refusalProblems,
  sendRaw,
  snapshotAll,
  writtenSince,
} from './scenario-bad-input.ts';
import { nested } from './scenario-hostile.ts';
import { gather } from './scenario-parallel.ts';
import type { Actor, Operation } from './scenario-world.ts';
import type { TestApp } from './test-app.ts';
import { testPublicUrl } from './test-world.ts';

export interface BadRequest {
  readonly label: string;
  readonly request: RawRequest;
  /** The answer it must get; 'any' where the request is odd rather than wrong: just no failure. */
  readonly wanted: number | 'refused' | 'any';
}

/** Sends them all; they must leave nothing behind. */
export async function badRequestViolations(app: TestApp, cases: readonly BadRequest[]): Promise<string[]> {
  const before = await snapshotAll(app);
  return [...(await answerViolations(app, cases)), ...(await writtenSince(app, before))];
}

/** The same where some of the requests may be taken. */
export async function answerViolations(app: TestApp, cases: readonly BadRequest[]): Promise<string[]> {
  return gather(cases, 4, async ({ label, request, wanted }) => {
    const answer = await sendRaw(app, request);
    return answerProblems(answer, wanted).map((problem) => `${label}: ${problem}`);
  });
}

function answerProblems(answer: RawAnswer, wanted: BadRequest['wanted']): string[] {
  if (wanted === 'any') {
    return answer.status < 300 || answer.status === 501 ? [] : refusalProblems(answer);
  }
  if (wanted !== 'refused' && answer.status !== wanted)
    return [`answered ${answer.status} instead of ${wanted}: ${answer.text}`];
  return refusalProblems(answer);
}

/** A valid request of an operation and who sends it. */
export interface Base {
  readonly operation: Operation;
  readonly actor: Actor;
  readonly prepared: Prepared;
}

function requestOf({ operation, actor, prepared }: Base, change: Partial<RawRequest> = {}): RawRequest {
  const { method, path } = operation;
  const headers = { ...actor.headers, ...prepared.headers, ...change.headers };
  return { method, path: pathOf(path, prepared), ...change, headers };
}

const brokenJson = [
  '{',
  '}',
  '{"a":}',
  '{"a":1,}',
  "{'a':1}",
  '[1,]',
  'nul',
  'NaN',
  '{"a":1}x',
  '\ufeff{}',
  '"\\x"',
  '"\t"',
];

/** Bodies that do not even arrive: not JSON, not UTF-8, too deep, too large, of another type. */
export function framingCases(base: Base): BadRequest[] {
  const json = { 'content-type': 'application/json' };
  const send = (
    label: string,
    wanted: number,
    payload: string | Buffer,
    headers: Record<string, string> = json,
  ) => ({
    label: `${base.operation.id}, ${label}`,
    request: requestOf(base, { payload, headers }),
    wanted,
  });
  const latin1 = Buffer.from('{"name":"caf\u00e9"}', 'latin1');
  const maxBytes = base.operation.maxBodyBytes ?? 1_048_576;
  return [
    ...brokenJson.map((text) => send(`broken JSON ${JSON.stringify(text)}`, 400, text)),
    send('nothing', 400, ''),
    send('10^5 arrays deep', 400, nested('[', ']', 100_000)),
    send('10^5 objects deep', 400, nested('{"a":', '}', 100_000)),
    send('33 levels deep', 400, nested('[', ']', 33)),
    send('no UTF-8', 400, latin1),
    send('more than it may be', 413, JSON.stringify({ name: 'x'.repeat(maxBytes + 1) })),
    send('plain text', 415, '{}', { 'content-type': 'text/plain' }),
    send('a form', 415, 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }),
    send('parts', 415, '--x--', { 'content-type': 'multipart/form-data; boundary=x' }),
    send('no type', 415, Buffer.from('{}'), { 'content-type': '' }),
    send('a broken type', 415, '{}', { 'content-type': 'application/' }),
  ];
}

/** Percent signs as they are on the wire. */
const hostileSegments = [
  '%00',
  'a%00b',
  '%ff',
  '%',
  '%zz',
  '%ED%A0%80',
  '..%2f..%2fetc%2fpasswd',
  '%2e%2e',
  '%20',
  '%F0%9F%9A%AA',
  'x'.repeat(255),
  'x'.repeat(4000),
  '8ZZZZZZZZZZZZZZZZZZZZZZZZZ',
  '01ARZ3NDEKTSV4RRFFQ69G5FAV0',
];

export function pathCases(base: Base): BadRequest[] {
  const { operation, prepared } = base;
  // Dots lead to another address, and there the body of a change may be a good one.
  const segments = hostileSegments.filter((segment) => segment !== '%2e%2e' || operation.audit === null);
  return Object.keys(prepared.params ?? {}).flatMap((name) =>
    segments.map((segment) => {
      const marked = pathOf(operation.path, { ...prepared, params: { ...prepared.params, [name]: 'MARK' } });
      const body = prepared.body === undefined ? {} : jsonBody(prepared.body);
      return {
        label: `${operation.id}, ${name} ${segment.slice(0, 30)}`,
        request: requestOf(base, { ...body, path: marked.replace('MARK', () => segment) }),
        // An action that no entity, or an op that no provider offers is 501 by the interface, however it is spelled; and clients resolve dots to
        // the address of something else before they send them.
        wanted:
          name === 'action_id' || name === 'op_id' || segment === '%2e%2e'
            ? ('any' as const)
            : ('refused' as const),
      };
    }),
  );
}

const jsonBody = (body: unknown): Partial<RawRequest> => ({
  payload: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

const hostileScalars = '-1 0 201 2147483648 abc 1.5 1e309 1e2 0x10 NaN Infinity true yes null'.split(' ');

const hostileFilters = [
  "' or 1=1 --",
  '%',
  '\\',
  ',,a,',
  '\u202e',
  '👩‍👩‍👧‍👦',
  '01arz3ndektsv4rrffq69g5fav',
  '8ZZZZZZZZZZZZZZZZZZZZZZZZZ',
  '2020-02-30T00:00:00Z',
  '275761-01-01T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '9'.repeat(400),
  'x'.repeat(7000),
];

const valuesFor = (schema: TSchema): string[] => {
  const isText = Reflect.get(schema, 'type') === 'string' && Reflect.get(schema, 'enum') === undefined;
  return ['', ' ', ...(isText ? hostileFilters : hostileScalars)].map((value) => encodeURIComponent(value));
};

const rawQueryValues = ['%00', 'a%00', '%ff', '%', '%ED%A0%80'];

const queryAjv = formatsPlugin.default(
  new Ajv2020({ strict: false, coerceTypes: true, useDefaults: true, validateFormats: true }),
);

/** Every parameter with every strange value, twice, and beside others that nobody declared. */
export function queryCases(base: Base): BadRequest[] {
  const { operation, prepared } = base;
  if (operation.query === undefined) return [];
  const validate = queryAjv.compile(operation.query);
  const properties = Object.entries((operation.query as TObject).properties);
  const others = (name: string) => Object.entries(prepared.query ?? {}).filter(([other]) => other !== name);
  const send = (label: string, name: string, values: readonly string[], wanted: BadRequest['wanted']) => {
    const rest = others(name).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
    const search = [...rest, ...values.map((value) => `${name}=${value}`)].join('&');
    const path = `${pathOf(operation.path, { ...prepared, query: {} })}?${search}`;
    return { label: `${operation.id}, ${name}=${label}`, request: requestOf(base, { path }), wanted };
  };
  const isValid = (name: string, value: string) =>
    validate({ ...Object.fromEntries(others(name)), [name]: decodeURIComponent(value) });
  return [
    ...properties.flatMap(([name, schema]) => [
      ...valuesFor(schema).map((value) =>
        send(value.slice(0, 40), name, [value], isValid(name, value) ? 'any' : 400),
      ),
      ...rawQueryValues.map((value) => send(value, name, [value], value.includes('%00') ? 400 : 'any')),
      send('given twice', name, ['1', '1'], 400),
    ]),
    ...['__proto__', 'constructor[prototype]', 'org_id[]', 'unknown'].map((name) =>
      send('x', name, ['x'], 'any'),
    ),
  ];
}

const hostileHeaderValues = [
  '',
  ' ',
  'x',
  'x'.repeat(10_000),
  '\u00e9\u00ff',
  '{}',
  "' or 1=1 --",
  '01arz3ndektsv4rrffq69g5fav',
];

/** Headers the service reads, with what nobody should send. */
export function headerCases(base: Base): BadRequest[] {
  const names = [
    'x-org',
    'idempotency-key',
    'x-service-confirm',
    'x-correlation-id',
    'cookie',
    'x-session-token',
    'user-agent',
    'origin',
    'sec-fetch-site',
    'x-forwarded-for',
    'if-none-match',
    'accept',
  ];
  const body = base.prepared.body === undefined ? {} : jsonBody(base.prepared.body);
  return names.flatMap((name) =>
    hostileHeaderValues.map((value) => ({
      label: `${base.operation.id}, ${name}: ${value.slice(0, 30)}`,
      request: requestOf(base, { ...body, headers: { ...body.headers, [name]: value } }),
      wanted: 'any' as const,
    })),
  );
}

/** Credentials that are none, in place of the caller's good ones. */
export function credentialCases({ operation, actor, prepared }: Base): BadRequest[] {
  const good = (actor.headers.authorization ?? '').replace('Bearer ', '');
  const secret = good.slice(-43);
  const wrong: readonly (readonly [label: string, headers: Record<string, string>])[] = [
    ['another base', { authorization: `Bearer https://elsewhere.example/api/v1_service_${secret}` }],
    [
      'a base that begins alike',
      { authorization: `Bearer ${testPublicUrl}.evil.example/api/v1_service_${secret}` },
    ],
    ['a base of the same length', { authorization: `Bearer ${good.replace(/8080/, '8081')}` }],
    ['another brand', { authorization: `Bearer ${testPublicUrl}/api/v1_acme_${secret}` }],
    ['the bare secret', { authorization: `Bearer ${secret}` }],
    ['a wrong secret', { authorization: `Bearer ${good.slice(0, -43)}${'A'.repeat(43)}` }],
    ['a secret too long', { authorization: `Bearer ${good}A` }],
    ['two different keys', { authorization: `Bearer ${good}`, 'x-api-key': `${good}x` }],
    ['another scheme', { authorization: `Basic ${good}` }],
    ['no token', { authorization: 'Bearer ' }],
    ['10 KB of token', { authorization: `Bearer ${'x'.repeat(10_000)}` }],
    ['no ASCII', { 'x-api-key': '\u00e9\u00ff' }],
    ['an unknown session token', { authorization: `Bearer ory_st_${secret}` }],
    ['an empty key', { 'x-api-key': '' }],
  ];
  const body = prepared.body === undefined ? {} : jsonBody(prepared.body);
  // Who sends no key but an unknown session is nobody, and so is a probe without one.
  const isLenient = (label: string) => operation.auth === 'session_probe' && label.includes('session');
  return wrong.map(([label, headers]) => ({
    label: `${operation.id} with ${label}`,
    request: requestOf(
      { operation, prepared: { ...prepared, headers: {} }, actor: { ...actor, headers: {} } },
      { ...body, headers: { ...body.headers, ...headers } },
    ),
    wanted: isLenient(label) ? 'any' : 401,
  }));
}

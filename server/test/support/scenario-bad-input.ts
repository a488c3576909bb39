// Input that is wrong on purpose: told so with a 4xx, never a fault of the service, and nothing is written.
import { type ErrorCode, errorTable } from '@lintel/contract/errors';
import { apiBasePath } from '@lintel/contract/operations';
import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { type Prepared, pathOf, type Stage, scenarios } from './scenario.ts';
import { type HostileBody, hostileBodies, hostileSeed, refuser } from './scenario-hostile.ts';
import { changedTables, type Snapshot, snapshotDatabase } from './scenario-snapshot.ts';
import type { Operation } from './scenario-world.ts';
import type { TestApp } from './test-app.ts';

export interface RawRequest {
  readonly method: Operation['method'];
  /** Below the API's path, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string | Buffer;
}

export interface RawAnswer {
  readonly status: number;
  readonly code: string;
  readonly text: string;
  readonly paths: readonly string[];
}

/** Past every convenience of the test app, as a hostile client would. The contract is still checked. */
export async function sendRaw(app: TestApp, request: RawRequest): Promise<RawAnswer> {
  const response = await app.app.http.inject({
    method: request.method,
    url: `${apiBasePath}${request.path}`,
    headers: { ...request.headers },
    ...(request.payload === undefined ? {} : { payload: request.payload }),
  });
  app.responses.assertClean();
  const body = errorBodyOf(response.body);
  return {
    status: response.statusCode,
    code: body.code ?? '',
    text: response.body.slice(0, 300),
    paths: (body.details ?? []).map(({ path }) => path),
  };
}

function errorBodyOf(text: string): { code?: string; details?: { path: string }[] } {
  try {
    return (JSON.parse(text) ?? {}) as { code?: string };
  } catch {
    return {};
  }
}

/** A clear no: a code of the table with its own status, and for a wrong member the place where it is. */
export function refusalProblems(answer: RawAnswer): string[] {
  const { status, code } = answer;
  if (status < 400 || status >= 500) return [`answered ${status}: ${answer.text}`];
  if (!Object.hasOwn(errorTable, code)) return [`has no code: ${answer.text}`];
  const isPlaceless =
    code === 'validation_error' && answer.paths.length === 0 && !/address/.test(answer.text);
  return [
    ...(errorTable[code as ErrorCode].status === status ? [] : [`${code} with status ${status}`]),
    ...(isPlaceless ? [`does not say where: ${answer.text}`] : []),
  ];
}

/** Attempts are counted to limit them, whatever comes of them; wrong PINs per invitation; scripts that ran and failed. */
const counters = new Set([
  'identity.attempts',
  'wrong_pin public.org_invitations',
  'script_error public.usage_counters',
]);

export async function snapshotAll(app: TestApp): Promise<{ tables: Snapshot; events: number }> {
  const [row] = await app.db.query<{ count: number }>(
    `select count(*)::int as count from audit_events where outcome <> 'denied'`,
  );
  return { tables: await snapshotDatabase(app.db), events: row?.count ?? 0 };
}

/** What was left behind since; refusals may have been noted as such. */
export async function writtenSince(
  app: TestApp,
  before: Awaited<ReturnType<typeof snapshotAll>>,
  code = '',
): Promise<string[]> {
  const after = await snapshotAll(app);
  const tables = changedTables(before.tables, after.tables).filter(
    (table) => !counters.has(table) && !counters.has(`${code} ${table}`),
  );
  return [
    ...tables.map((table) => `${table} was written`),
    // A script that failed was run all the same.
    ...(after.events === before.events || code === 'script_error' ? [] : ['an event was written']),
  ];
}

export interface BadBodyCheck {
  readonly app: TestApp;
  readonly stage: Stage;
  readonly operation: Operation & { readonly body: TSchema };
  readonly runs: number;
}

/** Bodies made from the operation's own schema. The contract decides which of them are wrong, the app has to agree. */
export async function badBodyViolations(check: BadBodyCheck): Promise<string[]> {
  const { app, stage, operation, runs } = check;
  const prepared = await scenarios[operation.id].prepare(stage);
  const isRefused = refuser(operation.body);
  const samples = fc.sample(hostileBodies(operation.body, prepared.body), {
    seed: hostileSeed,
    numRuns: runs,
  });
  const wrong = samples.filter(isRefused);
  const odd = samples.filter((body) => !isRefused(body));
  const before = await snapshotAll(app);
  const violations: string[] = [];
  for (const body of wrong) {
    const answer = await sendRaw(app, requestWith(check, prepared, body.text));
    const problems =
      answer.status === 400 ? refusalProblems(answer) : [`answered ${answer.status}: ${answer.text}`];
    violations.push(...problems.map((problem) => told(operation, body, problem)));
  }
  violations.push(
    ...(await writtenSince(app, before)).map((problem) => `${operation.id}: refused, but ${problem}`),
  );
  for (const body of odd) violations.push(...(await oddBodyProblems(check, prepared, body)));
  return violations;
}

/** Fits the schema but is strange: the service may take it or refuse it, but it must not fail at it. */
async function oddBodyProblems(
  check: BadBodyCheck,
  prepared: Prepared,
  body: HostileBody,
): Promise<string[]> {
  const { app, operation } = check;
  const before = await snapshotAll(app);
  const answer = await sendRaw(app, requestWith(check, prepared, body.text));
  if (answer.status < 300 || answer.status === 501) return [];
  const problems = [...refusalProblems(answer), ...(await writtenSince(app, before, answer.code))];
  return problems.map((problem) => told(operation, body, problem));
}

function requestWith({ operation, stage }: BadBodyCheck, prepared: Prepared, payload: string): RawRequest {
  return {
    method: operation.method,
    path: pathOf(operation.path, prepared),
    headers: { ...stage.actor.headers, ...prepared.headers, 'content-type': 'application/json' },
    payload,
  };
}

function told(operation: Operation, { label, text }: HostileBody, problem: string): string {
  return `${operation.id}, ${label} (seed ${hostileSeed}): ${problem}; body ${text.slice(0, 160)}`;
}

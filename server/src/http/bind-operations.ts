import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type OperationSpec, successStatus } from '@lintel/contract/operation';
import { apiBasePath, type OperationId, operations } from '@lintel/contract/operations';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { originOf } from '../audit/audit.store.ts';
import type { Credentials } from '../auth/credentials.ts';
import { AppError, type FieldProblem } from '../kernel/app-error.ts';
import type { Call, OrgScope, Principal } from '../kernel/call.ts';
import type { Handlers } from '../kernel/handler.ts';
import { Secret } from '../kernel/secret.ts';
import { refusedOnlyAfresh, StaleDecision } from '../kernel/stale-decision.ts';
import { isUlid } from '../kernel/ulid.ts';
import { type Authenticate, type Authenticated, nobody } from './authenticate.ts';
import { authorize } from './authorize.ts';
import { type DenialRecorder, isDenial } from './denials.ts';
import { toAppError } from './error-body.ts';
import { resolveOrg } from './resolve-org.ts';
import { leaveBodiesUnread, readUpload } from './upload-body.ts';
import { type Check, compileBody, compileQuery } from './validation.ts';

export interface BindDeps {
  readonly handlers: Handlers;
  readonly authenticate: Authenticate;
  readonly credentials: Credentials;
  readonly denials: DenialRecorder;
  readonly confirmHeader: string;
}

/** What every handler is called with; the types of one operation are checked where its handler is written. */
type AnyHandler = (input: {
  params: unknown;
  query: unknown;
  body: unknown;
  call: Call;
  headers: { append(name: string, value: string): void };
  org: OrgScope | null;
  principal: Principal | null;
}) => Promise<unknown>;

export function bindOperations(app: FastifyInstance, deps: BindDeps): void {
  const specs: readonly OperationSpec[] = operations;
  for (const operation of specs.filter(({ upload }) => upload === undefined))
    bindOperation(app, deps, operation);
  app.register(async (scope) => {
    leaveBodiesUnread(scope);
    for (const operation of specs.filter(({ upload }) => upload !== undefined))
      bindOperation(scope, deps, operation);
  });
}

function bindOperation(app: FastifyInstance, deps: BindDeps, operation: OperationSpec): void {
  const handler = deps.handlers[operation.id as OperationId] as unknown as AnyHandler;
  const validate = compileChecks(operation);
  const status = successStatus(operation);
  const serve = async (
    request: FastifyRequest,
    reply: FastifyReply,
    first: boolean,
  ): Promise<FastifyReply> => {
    const mayRecall = first && operation.verifiedInCommit === true;
    const { call, org } = await admit(deps, operation, validate, request, mayRecall);
    const { upload, answersWithinMs } = operation;
    // Longer than a connection may be silent otherwise.
    if (answersWithinMs !== undefined) reply.raw.setTimeout(answersWithinMs, () => reply.raw.destroy());
    const body = upload === undefined ? request.body : await readUpload(request, upload);
    const result = await withDenials(deps, operation, request, call, org?.id ?? null, () =>
      handler({
        params: request.params,
        query: request.query,
        body,
        call,
        headers: { append: (name, value) => appendHeader(reply, name, value) },
        org,
        principal: call.principal,
      }),
    );
    return result === undefined ? reply.code(204).send() : reply.code(status).send(result);
  };
  app.route({
    method: operation.method,
    url: `${apiBasePath}${operation.path.replace(/\{(\w+)\}/g, ':$1')}`,
    schema: { response: responseSchemas(operation) },
    ...(operation.maxBodyBytes === undefined ? {} : { bodyLimit: operation.maxBodyBytes }),
    config: { operation },
    handler: (request, reply) => decideAfresh((first) => serve(request, reply, first)),
  });
}

const maxDecisions = 12;
const pauseMs = 10;

/** When the organization changed between decision and commit, the request starts over: who is calling, too. */
async function decideAfresh<T>(work: (first: boolean) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt === 1);
    } catch (error) {
      if (!(error instanceof StaleDecision)) throw error;
      if (attempt === maxDecisions)
        throw new AppError('unavailable', 'the organization is changing too fast', { cause: error });
      // The first time at once; then others who change it should get to an end.
      if (attempt > 1) await delay(randomInt(pauseMs * attempt));
    }
  }
}

/** authenticate → organization → role → validate. A stranger learns nothing of what a valid request looks like. */
async function admit(
  deps: BindDeps,
  operation: OperationSpec,
  validate: Validate,
  request: FastifyRequest,
  mayRecall: boolean,
) {
  const anonymous = callOf(deps, request, nobody);
  const who = await withDenials(deps, operation, request, anonymous, null, () =>
    deps.authenticate(request, operation.auth, mayRecall),
  );
  const renewed = async (): Promise<Call> =>
    callOf(deps, request, await deps.authenticate(request, operation.auth, false));
  const call = { ...callOf(deps, request, who), renewed };
  const org = await withDenials(deps, operation, request, call, null, () =>
    refusedOnlyAfresh(call, async () => {
      const found = await resolveOrg(deps.credentials, operation, request, call.principal);
      authorize(operation, call.principal, found);
      validate(request);
      return found;
    }),
  );
  return { call, org };
}

async function withDenials<T>(
  deps: BindDeps,
  operation: OperationSpec,
  request: FastifyRequest,
  call: Call,
  orgId: string | null,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StaleDecision) throw error;
    const refusal = toAppError(error);
    if (isDenial(refusal)) {
      const target = orgId ?? (await deniedOrgId(deps, operation, request, call));
      await deps.denials.record(operation, originOf(call), target, refusal);
    }
    throw error;
  }
}

/** The organization that was asked for, if it exists: its administrators should know who tried. */
async function deniedOrgId(deps: BindDeps, operation: OperationSpec, request: FastifyRequest, call: Call) {
  const params = request.params as Record<string, string>;
  const header = request.headers['x-org'];
  const named = operation.org === 'path' ? params[operation.orgParam ?? 'org_id'] : header;
  const own = call.principal !== null && call.principal.kind !== 'user' ? call.principal.org.id : null;
  if (typeof named !== 'string' || !isUlid(named)) return own ?? call.principal?.grants[0]?.orgId ?? null;
  return (await deps.credentials.orgScope(named))?.id ?? own;
}

function callOf(deps: BindDeps, request: FastifyRequest, who: Authenticated): Call {
  return {
    correlationId: request.id,
    source: who.byCookie ? 'dashboard' : 'api',
    principal: who.principal,
    recalled: who.recalled,
    session: who.session,
    sessionCredential: {
      cookie: secretOrNull(request.headers.cookie),
      sessionToken: secretOrNull(who.sessionToken),
    },
    ip: request.ip,
    userAgent: request.headers['user-agent'] ?? null,
    idempotencyKey: headerText(request, 'idempotency-key'),
    // An empty header proves nothing, and must not pass for a proof.
    confirmation: headerText(request, deps.confirmHeader) || null,
    isGone: () => request.raw.socket?.destroyed === true,
  };
}

function secretOrNull(value: string | null | undefined): Secret | null {
  return value === null || value === undefined ? null : new Secret(value);
}

function headerText(request: FastifyRequest, name: string): string | null {
  const header = request.headers[name];
  return typeof header === 'string' ? header : null;
}

type Validate = (request: FastifyRequest) => void;

function compileChecks(operation: OperationSpec): Validate {
  const body = operation.body === undefined ? null : compileBody(operation.body);
  const query = operation.query === undefined ? null : compileQuery(operation.query);
  return (request) => {
    if (query !== null) refuse(query, request.query, 'query');
    if (body !== null && request.body === undefined) {
      throw new AppError('validation_error', 'a JSON body is required', {
        details: [{ path: '/', message: 'is required' }],
      });
    }
    if (body !== null) refuse(body, request.body, 'body');
  };
}

function refuse(check: Check, value: unknown, part: string): void {
  const problems: FieldProblem[] = check(value);
  const [first] = problems;
  if (first !== undefined) {
    throw new AppError('validation_error', `${part} ${first.path} ${first.message}`, { details: problems });
  }
}

function responseSchemas(operation: OperationSpec): Record<string, unknown> {
  const entries = Object.entries(operation.responses).filter(([, schema]) => schema !== null);
  return Object.fromEntries(entries);
}

function appendHeader(reply: FastifyReply, name: string, value: string): void {
  const present = reply.getHeader(name);
  const values = present === undefined ? [] : Array.isArray(present) ? present : [String(present)];
  // Fastify itself keeps the lines of set-cookie and would keep the old ones twice.
  reply.header(name, name.toLowerCase() === 'set-cookie' ? value : [...values, value]);
}

import type { OperationSpec } from '@lintel/contract/operation';
import { type OperationId, operationById } from '@lintel/contract/operations';
import { originOf } from '../audit/audit.store.ts';
import type { Credentials } from '../auth/credentials.ts';
import { AppError, notFound } from '../kernel/app-error.ts';
import { type Call, isMember, type OrgScope, type Principal, principalOf } from '../kernel/call.ts';
import type { Handlers } from '../kernel/handler.ts';
import { StaleDecision } from '../kernel/stale-decision.ts';
import { authorize } from './authorize.ts';
import { type DenialRecorder, isDenial } from './denials.ts';
import { toAppError } from './error-body.ts';
import { parseJsonBody } from './json-body.ts';
import { type Check, compileBody, compileQuery } from './validation.ts';

export interface OperationStep {
  readonly id: OperationId;
  readonly call: Call;
  /** The organization it works in, or its id; null for operations without one. */
  readonly org: OrgScope | string | null;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** The operation whose role is asked for, where that one shows the same as a part of its answer. */
  readonly roleOf?: OperationId;
}

/** Operations for callers that come by no request of their own: the steps of a script. */
export interface OperationPerformer {
  /** Everything a request would go through after it was authenticated: organization, role, validation, denial events. */
  perform(step: OperationStep): Promise<unknown>;
  /** The same up to the handler: whether it would be let in. */
  require(step: OperationStep): Promise<void>;
  /** Like `require`, but a refusal leaves no event. */
  admit(step: OperationStep): Promise<void>;
}

export interface PerformerDeps {
  readonly handlers: () => Handlers;
  readonly credentials: Pick<Credentials, 'orgScope'>;
  readonly denials: DenialRecorder;
}

type AnyHandler = (input: object) => Promise<unknown>;

const maxDecisions = 5;

export function createOperationPerformer(deps: PerformerDeps): OperationPerformer {
  const checks = new Map<string, Check>();
  const admit = (step: OperationStep) => admitted(deps, checks, step);
  return {
    admit: async (step) => void (await admit(asSent(step))),
    require: async (step) => void (await withDenials(deps, step, () => admit(step))),
    perform: async (step) => {
      for (let attempt = 1; ; attempt += 1) {
        const call = attempt === 1 ? step.call : await renewed(step.call);
        try {
          const now = asSent({ ...step, call });
          return await withDenials(deps, now, async () => handle(deps, now, await admit(now)));
        } catch (error) {
          if (!(error instanceof StaleDecision) || attempt === maxDecisions) throw error;
        }
      }
    },
  };
}

/** What no request could hold no step does either: it goes through the same door, as text. */
function asSent(step: OperationStep): OperationStep {
  if (operationById(step.id).body === undefined) return step;
  return { ...step, body: parseJsonBody(JSON.stringify(step.body)) };
}

/** The step's own origin stays; who calls, and what they may do, is looked up again. */
async function renewed(call: Call): Promise<Call> {
  const fresh = await call.renewed?.();
  return fresh === undefined ? call : { ...call, principal: fresh.principal };
}

async function admitted(
  deps: PerformerDeps,
  checks: Map<string, Check>,
  step: OperationStep,
): Promise<OrgScope | null> {
  const operation = operationById(step.id);
  const principal = principalOf(step.call);
  const org = await orgOf(deps, operation, step.org, principal);
  authorize(operationById(step.roleOf ?? step.id), principal, org);
  const { query, body } = operation;
  if (query !== undefined)
    refuse(
      checkOf(checks, `${step.id} query`, () => compileQuery(query)),
      step.query ?? {},
    );
  if (body !== undefined)
    refuse(
      checkOf(checks, `${step.id} body`, () => compileBody(body)),
      step.body,
    );
  return org;
}

/** As the edge does it: a foreign organization in a path is unknown, one that is named beside it is refused. */
async function orgOf(
  { credentials }: PerformerDeps,
  operation: OperationSpec,
  org: OrgScope | string | null,
  principal: Principal,
): Promise<OrgScope | null> {
  if (operation.org === 'none') return null;
  const scope = typeof org === 'string' ? await credentials.orgScope(org) : org;
  const inPath = operation.org === 'path';
  const isHidden = scope?.deletedAt !== null && !(inPath && operation.allowsDeletedOrg === true);
  if (scope !== null && isMember(principal, scope) && !isHidden) return scope;
  throw inPath ? notFound() : new AppError('forbidden', 'the caller has no role in this organization');
}

function checkOf(checks: Map<string, Check>, name: string, compile: () => Check): Check {
  const check = checks.get(name) ?? compile();
  checks.set(name, check);
  return check;
}

function refuse(check: Check, value: unknown): void {
  const problems = check(value);
  const [first] = problems;
  if (first !== undefined)
    throw new AppError('validation_error', `${first.path} ${first.message}`, { details: problems });
}

function handle({ handlers }: PerformerDeps, step: OperationStep, org: OrgScope | null): Promise<unknown> {
  const handler = handlers()[step.id] as unknown as AnyHandler;
  return handler({
    params: step.params ?? {},
    query: step.query ?? {},
    body: step.body,
    call: step.call,
    headers: { append: () => undefined },
    org,
    principal: step.call.principal,
  });
}

async function withDenials<T>(
  { denials }: PerformerDeps,
  { id, call, org }: OperationStep,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const refusal = error instanceof StaleDecision ? null : toAppError(error);
    if (refusal !== null && isDenial(refusal)) {
      const orgId = typeof org === 'string' ? org : (org?.id ?? null);
      await denials.record(operationById(id), originOf(call), orgId, refusal);
    }
    throw error;
  }
}

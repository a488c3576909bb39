import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';
import type { Effect, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { compilePolicy, type Satisfied, UnsupportedCedar } from './cedar-compiler.ts';
import { CedarEvaluationError, type CedarRequest } from './cedar-values.ts';

export interface CompiledCedar {
  readonly id: string;
  readonly effect: Effect;
  readonly message: string;
  /** False when its answer holds at any time. */
  readonly readsContext: boolean;
  /** The wasm engine evaluates what the compiler has no closure for. */
  readonly compiled: boolean;
  readonly satisfied: Satisfied;
}

export interface CedarVerdict {
  readonly allowed: boolean;
  /** The policies that made the decision: forbids if any, else permits. */
  readonly determining: readonly CompiledCedar[];
}

const textOf = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
export const cedarSchema = textOf('./lintel.cedarschema');
export const cedarPolicies = textOf('./lintel.cedar');

const require = createRequire(import.meta.url);
let loaded: typeof Cedar | undefined;

/** Only who has policies of their own needs it, and it takes half a second to load. */
function wasm(): typeof Cedar {
  loaded ??= require('@cedar-policy/cedar-wasm/nodejs') as typeof Cedar;
  return loaded;
}

/** The policies of the service, parsed already: `npm run generate` writes lintel.cedar.json, a test compares it. */
export function loadBasePolicies(): readonly CompiledCedar[] {
  const policies = JSON.parse(textOf('./lintel.cedar.json')) as PolicyJson[];
  return policies.map((json) => {
    const id = json.annotations?.id;
    if (id === undefined) throw new Error('lintel.cedar: a policy has no @id');
    return { ...described(id, json), compiled: true, satisfied: compilePolicy(json) };
  });
}

/** What lintel.cedar.json must hold. */
export function parsedBasePolicies(): readonly PolicyJson[] {
  const parts = wasm().policySetTextToParts(cedarPolicies);
  if (parts.type === 'failure') throw new Error(`lintel.cedar: ${firstMessage(parts.errors)}`);
  return parts.policies.map(parse);
}

/** A custom policy. Throws where the text no longer parses. */
export function compileCustom(id: string, text: string): CompiledCedar {
  return compiled(id, text, parse(text));
}

/** What is wrong with the text of a custom policy: it must be one forbid that fits the schema. */
export function customProblem(text: string): string | null {
  const parts = wasm().policySetTextToParts(text);
  if (parts.type === 'failure') return firstMessage(parts.errors);
  if (parts.policies.length !== 1 || parts.policy_templates.length > 0) return 'must be one policy';
  if (parse(text).effect !== 'forbid') return 'must be a forbid: policies only narrow';
  return validationProblem(text);
}

/** Deny unless permitted, forbid overrides. A forbid that errs denies: Cedar would skip it, and open the door. */
export function authorize(policies: readonly CompiledCedar[], request: CedarRequest): CedarVerdict {
  const holding = policies.filter((policy) => holds(policy, request));
  const forbids = holding.filter(({ effect }) => effect === 'forbid');
  if (forbids.length > 0) return { allowed: false, determining: forbids };
  return { allowed: holding.length > 0, determining: holding };
}

export function holds(policy: CompiledCedar, request: CedarRequest): boolean {
  try {
    return policy.satisfied(request);
  } catch (error) {
    if (!(error instanceof CedarEvaluationError)) throw error;
    return policy.effect === 'forbid';
  }
}

function described(id: string, json: PolicyJson): Omit<CompiledCedar, 'compiled' | 'satisfied'> {
  return {
    id,
    effect: json.effect,
    message: json.annotations?.message ?? 'a Cedar policy forbids this',
    readsContext: JSON.stringify(json.conditions).includes('{"Var":"context"}'),
  };
}

function compiled(id: string, text: string, json: PolicyJson): CompiledCedar {
  const base = described(id, json);
  try {
    return { ...base, compiled: true, satisfied: compilePolicy(json) };
  } catch (error) {
    if (!(error instanceof UnsupportedCedar)) throw error;
    return { ...base, compiled: false, satisfied: (request) => askWasm(text, json.effect, request) };
  }
}

/** One policy by itself: a permit is satisfied when it allows; a forbid when it is named as the reason. */
function askWasm(text: string, effect: Effect, request: CedarRequest): boolean {
  const answer = wasm().isAuthorized({
    principal: request.principal.__entity,
    action: request.action.__entity,
    resource: request.resource.__entity,
    context: request.context,
    policies: { staticPolicies: { asked: text } },
    entities: entitiesOf(request),
  } as Cedar.AuthorizationCall);
  if (answer.type === 'failure') throw new CedarEvaluationError(firstMessage(answer.errors));
  const { diagnostics, decision } = answer.response;
  if (diagnostics.errors.length > 0) throw new CedarEvaluationError('the policy can not be evaluated');
  return effect === 'permit' ? decision === 'allow' : diagnostics.reason.includes('asked');
}

export function entitiesOf({ entities }: CedarRequest): Cedar.Entities {
  return [...entities.values()].map(({ uid, attrs, ancestors }) => ({
    uid: uid.__entity,
    attrs,
    parents: ancestors.map(({ __entity }) => __entity),
  })) as Cedar.Entities;
}

function parse(text: string): PolicyJson {
  const answer = wasm().policyToJson(text);
  if (answer.type === 'failure') throw new Error(firstMessage(answer.errors));
  return answer.json;
}

export function validationProblem(text: string): string | null {
  const answer = wasm().validate({ schema: cedarSchema, policies: { staticPolicies: text } });
  if (answer.type === 'failure') return firstMessage(answer.errors);
  return answer.validationErrors[0]?.error.message ?? null;
}

function firstMessage(errors: readonly Cedar.DetailedError[]): string {
  return errors[0]?.message ?? 'is not a Cedar policy';
}

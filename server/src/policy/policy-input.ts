import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';
import { invalid } from '../kernel/app-error.ts';
import { customProblem } from './cedar-engine.ts';
import {
  type Enforcement,
  isPolicyType,
  type PolicyConfig,
  type PolicyKindSpec,
  type PolicyScope,
  type PolicyType,
  policyKinds,
} from './policy-kinds.ts';

export interface PolicyInput {
  readonly scope: PolicyScope;
  readonly policyType: string;
  readonly config: unknown;
  readonly enforcement: Enforcement;
  readonly capability: string | null;
}

const ajv = formatsPlugin.default(
  new Ajv2020({ strict: true, strictTypes: false, allErrors: false, coerceTypes: false, useDefaults: false }),
);
const capabilities: readonly string[] = ['switchable', 'users_admin'];
const validators = new Map<PolicyType, ValidateFunction>();

/** A policy as it would be stored; throws the 400 that names the member. */
export function requirePolicyInput(input: PolicyInput): PolicyType {
  const { policyType, scope, enforcement, capability } = input;
  if (!isPolicyType(policyType)) throw invalid('/policy_type', 'is not a kind of policy there is');
  const kind: PolicyKindSpec = policyKinds[policyType];
  if (!kind.scopes.includes(scope))
    throw invalid('/policy_type', `can not be set for one ${scope}; it can for: ${kind.scopes.join(', ')}`);
  if (!kind.enforcements.includes(enforcement))
    throw invalid('/enforcement', `must be one of ${JSON.stringify(kind.enforcements)} for this kind`);
  // A misspelled one would be a policy that never acts.
  if (capability !== null && !capabilities.includes(capability))
    throw invalid('/capability', `must be one of ${JSON.stringify(capabilities)}, or absent for all`);
  requireConfig(policyType, input.config);
  return policyType;
}

function requireConfig(type: PolicyType, config: unknown): void {
  const validate = validatorOf(type);
  if (!validate(config)) {
    const [error] = validate.errors ?? [];
    throw invalid(`/config${error === undefined ? '' : placeOf(error)}`, error?.message ?? 'is not valid');
  }
  if (type === 'invitation_curfew') requireWindows(config);
  if (type === 'cedar') requireCedar(config);
}

function requireCedar(config: unknown): void {
  const problem = customProblem((config as PolicyConfig<'cedar'>).policy);
  if (problem !== null) throw invalid('/config/policy', problem);
}

function validatorOf(type: PolicyType): ValidateFunction {
  const known = validators.get(type);
  if (known !== undefined) return known;
  const validate = ajv.compile(policyKinds[type].config);
  validators.set(type, validate);
  return validate;
}

/** Either a list of windows, or the one window itself. */
function requireWindows(config: unknown): void {
  const { windows, start, end } = config as { windows?: unknown; start?: string; end?: string };
  if ((windows !== undefined) === (start !== undefined && end !== undefined))
    throw invalid('/config/windows', 'either windows, or start and end, is required');
  if (windows !== undefined && (start !== undefined || end !== undefined))
    throw invalid('/config/start', 'can not stand beside windows');
}

function placeOf({ instancePath, keyword, params }: ErrorObject): string {
  const named: unknown =
    keyword === 'required'
      ? params.missingProperty
      : keyword === 'additionalProperties'
        ? params.additionalProperty
        : undefined;
  if (typeof named !== 'string') return instancePath;
  return `${instancePath}/${named.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';
import type { TSchema } from 'typebox';
import type { FieldProblem } from '../kernel/app-error.ts';

/**
 * Bodies are taken as they are: no coercion, nothing dropped. Query strings hold text only, so they are coerced.
 * `allErrors` stays off: an attacker must not make one request cost a thousand error objects.
 */
const base = {
  strict: true,
  strictTypes: false,
  strictTuples: false,
  allErrors: false,
  validateFormats: true,
} as const;
const addFormats = formatsPlugin.default;
const bodyAjv = addFormats(new Ajv2020({ ...base, coerceTypes: false, useDefaults: false }));
const queryAjv = addFormats(new Ajv2020({ ...base, coerceTypes: true, useDefaults: true }));

export type Check = (value: unknown) => FieldProblem[];

export function compileBody(schema: TSchema): Check {
  return checkWith(bodyAjv.compile(schema));
}

/** Coerces in place and fills in the defaults. */
export function compileQuery(schema: TSchema): Check {
  const check = checkWith(queryAjv.compile(schema));
  return (value) => {
    const problems = check(value);
    return problems.length > 0 ? problems : infiniteMembers(value);
  };
}

/** Coercion makes Infinity of 1e309, and Ajv holds no limit against a number that is not finite. */
function infiniteMembers(query: unknown): FieldProblem[] {
  return Object.entries(query ?? {})
    .filter(([, value]) => typeof value === 'number' && !Number.isFinite(value))
    .map(([name]) => ({ path: `/${name}`, message: 'is out of range' }));
}

function checkWith(validate: ValidateFunction): Check {
  return (value) => (validate(value) ? [] : problemsOf(validate.errors ?? []));
}

function problemsOf(errors: readonly ErrorObject[]): FieldProblem[] {
  return errors.slice(0, 10).map((error) => ({ path: pathOf(error), message: messageOf(error) }));
}

function pathOf(error: ErrorObject): string {
  const named: unknown =
    error.keyword === 'required'
      ? error.params.missingProperty
      : error.keyword === 'additionalProperties'
        ? error.params.additionalProperty
        : undefined;
  const suffix = typeof named === 'string' ? `/${named.slice(0, 64)}` : '';
  return `${error.instancePath}${suffix}` || '/';
}

function messageOf(error: ErrorObject): string {
  if (error.keyword === 'additionalProperties') return 'is not a known member';
  if (error.keyword === 'required') return 'is required';
  if (error.keyword === 'enum') return `must be one of ${JSON.stringify(error.params.allowedValues)}`;
  return error.message ?? 'is not valid';
}

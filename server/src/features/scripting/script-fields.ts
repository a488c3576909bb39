import type { ScriptKind } from '@lintel/contract/scripting';
import { AppError } from '../../kernel/app-error.ts';
import { isUlid } from '../../kernel/ulid.ts';
import { type FieldSpec, type FieldType, kindTable, shown } from './script-kinds.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Those a script may create; others are made by their providers. */
const entityTypes = ['switch', 'light', 'sensor'];

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (values: unknown): boolean =>
  Array.isArray(values) && values.every((value) => typeof value === 'string');

const tests: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  id: isUlid,
  bool: (value) => typeof value === 'boolean',
  object: isObject,
  texts: (value) => isObject(value) && Object.values(value).every((each) => typeof each === 'string'),
  roles: (value) =>
    isObject(value) && Object.keys(value).every(isUlid) && Object.values(value).every(isTexts),
  'entity type': (value) => typeof value === 'string' && entityTypes.includes(value),
};

const expectations: Readonly<Record<FieldType, string>> = {
  text: 'a string',
  id: 'a ULID',
  bool: 'a bool',
  object: 'a map',
  texts: 'a map of strings',
  roles: 'a map of org ids to arrays of role names',
  'entity type': `one of ${entityTypes.join(', ')}`,
};

/** As a body for the operation. In a new record `()` is left out; in a change it clears what need not be there. */
export function checkFields(kind: ScriptKind, use: 'create' | 'update', fields: Fields): Fields {
  const spec = kindTable[kind];
  const allowed = spec[use];
  for (const name of Object.keys(fields)) {
    if (!Object.hasOwn(allowed, name)) throw unknownField(kind, name, Object.keys(allowed));
  }
  const given = Object.entries(fields).filter(([, value]) => use === 'update' || value !== null);
  for (const [name, value] of given) {
    const field = allowed[name];
    const mayClear = use === 'update' && spec.create[name]?.required !== true;
    if (field !== undefined && !(mayClear && value === null)) requireType(name, field, value);
  }
  const missing = Object.entries(allowed).find(
    ([name, { required }]) => use === 'create' && required === true && (fields[name] ?? null) === null,
  );
  if (missing !== undefined)
    throw new AppError('validation_error', `${missing[0]} is required: ${expectations[missing[1].type]}`);
  return Object.fromEntries(given);
}

function requireType(name: string, { type }: FieldSpec, value: unknown): void {
  if (!tests[type](value)) throw new AppError('validation_error', `${name} must be ${expectations[type]}`);
}

function unknownField(kind: ScriptKind, name: string, allowed: readonly string[]): AppError {
  const why = name === 'channel_index' ? 'is not supported in scripts' : `is no field of ${kind} here`;
  return new AppError('validation_error', `${shown(name)} ${why}; there are ${allowed.join(', ')}`);
}

export function requireUlid(id: string): string {
  if (isUlid(id)) return id;
  throw new AppError('validation_error', `${shown(id)} is not a ULID`);
}

export interface ReadOptions {
  readonly includeDeleted: boolean;
  readonly onlyDeleted: boolean;
  /** For lists: where to look, in place of the organization of the request. */
  readonly orgId: string | null;
}

export function parseOptions(options: Fields, use: 'get' | 'list'): ReadOptions {
  const {
    include_deleted: include = false,
    only_deleted: only = false,
    org_id: orgId = null,
    ...rest
  } = options;
  const [unknown] = [...Object.keys(rest), ...(use === 'get' && orgId !== null ? ['org_id'] : [])];
  if (unknown !== undefined)
    throw new AppError(
      'validation_error',
      `${shown(unknown)} is no option; there are include_deleted, only_deleted`,
    );
  for (const [name, value] of Object.entries({ include_deleted: include, only_deleted: only }))
    requireType(name, { type: 'bool' }, value);
  if (orgId !== null) requireType('org_id', { type: 'id' }, orgId);
  const onlyDeleted = only === true;
  return { includeDeleted: include === true || onlyDeleted, onlyDeleted, orgId: orgId as string | null };
}

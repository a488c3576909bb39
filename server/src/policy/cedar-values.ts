/** Values of the Cedar language. A set is an array, an entity is its reference; Long is a safe integer. */
export type CedarValue = boolean | number | string | EntityRef | readonly CedarValue[] | CedarRecord;

export interface CedarRecord {
  readonly [name: string]: CedarValue;
}

export interface EntityRef {
  readonly __entity: { readonly type: string; readonly id: string };
}

export interface CedarEntity {
  readonly uid: EntityRef;
  readonly attrs: CedarRecord;
  /** Direct and indirect ones; the whole chain is given, so that `in` is one look. */
  readonly ancestors: readonly EntityRef[];
}

export interface CedarRequest {
  readonly principal: EntityRef;
  readonly action: EntityRef;
  readonly resource: EntityRef;
  readonly context: CedarRecord;
  readonly entities: ReadonlyMap<string, CedarEntity>;
}

/** A type error, a missing attribute: Cedar skips such a policy; here a forbid that errs denies. */
export class CedarEvaluationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CedarEvaluationError';
  }
}

export const entityRef = (type: string, id: string): EntityRef => ({ __entity: { type, id } });
export const keyOf = ({ __entity }: EntityRef): string => `${__entity.type}::${__entity.id}`;

export function isEntity(value: CedarValue): value is EntityRef {
  return typeof value === 'object' && !isSet(value) && Object.hasOwn(value, '__entity');
}

export function isSet(value: CedarValue): value is readonly CedarValue[] {
  return Array.isArray(value);
}

export function isRecord(value: CedarValue): value is CedarRecord {
  return typeof value === 'object' && !isSet(value) && !isEntity(value);
}

/** Cedar's `==`: false across types, sets without order and repetition, records by member. */
export function sameValue(a: CedarValue, b: CedarValue): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return a === b;
  if (isEntity(a)) return isEntity(b) && sameEntity(a, b);
  if (isSet(a)) return isSet(b) && subset(a, b) && subset(b, a);
  return isRecord(b) && sameRecord(a as CedarRecord, b);
}

export function sameEntity(a: EntityRef, b: EntityRef): boolean {
  return a.__entity.id === b.__entity.id && a.__entity.type === b.__entity.type;
}

export function includes(set: readonly CedarValue[], wanted: CedarValue): boolean {
  return set.some((value) => sameValue(value, wanted));
}

export function subset(part: readonly CedarValue[], whole: readonly CedarValue[]): boolean {
  return part.every((value) => includes(whole, value));
}

function sameRecord(a: CedarRecord, b: CedarRecord): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => sameMember(a, b, name));
}

function sameMember(a: CedarRecord, b: CedarRecord, name: string): boolean {
  const [left, right] = [a[name], b[name]];
  return Object.hasOwn(b, name) && left !== undefined && right !== undefined && sameValue(left, right);
}

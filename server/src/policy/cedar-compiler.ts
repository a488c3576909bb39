import type { Expr, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import {
  type CedarEntity,
  CedarEvaluationError,
  type CedarRecord,
  type CedarRequest,
  type CedarValue,
  type EntityRef,
  includes,
  isEntity,
  isRecord,
  isSet,
  keyOf,
  sameEntity,
  sameValue,
  subset,
} from './cedar-values.ts';

/** Nothing is guessed: what has no closure here is evaluated by the wasm engine. */
export class UnsupportedCedar extends Error {
  constructor(construct: string) {
    super(`no closure for the Cedar construct ${construct}`);
    this.name = 'UnsupportedCedar';
  }
}

export type Satisfied = (request: CedarRequest) => boolean;
type Evaluate = (request: CedarRequest) => CedarValue;
type Operands = { readonly left: Expr; readonly right: Expr };

/** Whether a policy is satisfied by a request; throws CedarEvaluationError where Cedar reports an error. */
export function compilePolicy(json: PolicyJson): Satisfied {
  const parts: Satisfied[] = [
    ...scopeOf('principal', json.principal),
    ...scopeOf('action', json.action),
    ...scopeOf('resource', json.resource),
    ...json.conditions.map(({ kind, body }) => {
      const holds = condition(body);
      return kind === 'when' ? holds : (request: CedarRequest) => !holds(request);
    }),
  ];
  return (request) => parts.every((part) => part(request));
}

type Variable = 'principal' | 'action' | 'resource';

interface ScopeJson {
  readonly op: string;
  readonly entity?: unknown;
  readonly entities?: readonly unknown[];
  readonly entity_type?: string;
  readonly in?: unknown;
}

function scopeOf(variable: Variable, scope: ScopeJson): Satisfied[] {
  if (scope.op === 'All') return [];
  if (scope.op === '==') {
    const wanted = refOf(scope.entity);
    return [(request) => sameEntity(request[variable], wanted)];
  }
  if (scope.op === 'in') {
    const groups = (scope.entities ?? [scope.entity]).map(refOf);
    return [(request) => isIn(request, request[variable], groups)];
  }
  if (scope.op !== 'is') throw new UnsupportedCedar(scope.op);
  const type = scope.entity_type;
  const within = scope.in === undefined ? null : [refOf(memberOf(scope.in, 'entity'))];
  return [
    (request) =>
      request[variable].__entity.type === type &&
      (within === null || isIn(request, request[variable], within)),
  ];
}

function refOf(json: unknown): EntityRef {
  const inner: unknown = memberOf(json, '__entity') ?? json;
  const [type, id] = [memberOf(inner, 'type'), memberOf(inner, 'id')];
  if (typeof type !== 'string' || typeof id !== 'string') throw new UnsupportedCedar('slot');
  return { __entity: { type, id } };
}

function memberOf(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null && Object.hasOwn(json, name)
    ? Reflect.get(json, name)
    : undefined;
}

function isIn(request: CedarRequest, entity: EntityRef, groups: readonly EntityRef[]): boolean {
  const ancestors = request.entities.get(keyOf(entity))?.ancestors ?? [];
  return groups.some(
    (group) => sameEntity(entity, group) || ancestors.some((above) => sameEntity(above, group)),
  );
}

function condition(expr: Expr): Satisfied {
  const evaluate = compile(expr);
  return (request) => boolean(evaluate(request));
}

/** One closure for each node; the table is closed, so a new construct of the language stops here. */
function compile(expr: Expr): Evaluate {
  const [name, ...more] = Object.keys(expr);
  const build = name === undefined || !Object.hasOwn(constructs, name) ? undefined : constructs[name];
  if (build === undefined || name === undefined || more.length > 0) throw new UnsupportedCedar(String(name));
  return build(memberOf(expr, name));
}

const binary =
  (apply: (left: CedarValue, right: CedarValue, request: CedarRequest) => CedarValue) =>
  (json: unknown): Evaluate => {
    const { left, right } = json as Operands;
    const [first, second] = [compile(left), compile(right)];
    return (request) => apply(first(request), second(request), request);
  };

const constructs: Readonly<Record<string, (json: unknown) => Evaluate>> = {
  Value: (json) => {
    const value = literal(json);
    return () => value;
  },
  Var: (json) => (request) => request[json as Variable | 'context'],
  Set: (json) => {
    const members = (json as Expr[]).map(compile);
    return (request) => members.map((member) => member(request));
  },
  Record: (json) => {
    const members = Object.entries(json as Record<string, Expr>).map(
      ([name, member]) => [name, compile(member)] as const,
    );
    return (request) => Object.fromEntries(members.map(([name, member]) => [name, member(request)]));
  },
  '!': (json) => {
    const holds = condition((json as { arg: Expr }).arg);
    return (request) => !holds(request);
  },
  '&&': (json) => logical(json as Operands, (left, right) => (request) => left(request) && right(request)),
  '||': (json) => logical(json as Operands, (left, right) => (request) => left(request) || right(request)),
  'if-then-else': (json) => {
    const parts = json as { if: Expr; then: Expr; else: Expr };
    const [asked, yes, no] = [condition(parts.if), compile(parts.then), compile(parts.else)];
    return (request) => (asked(request) ? yes(request) : no(request));
  },
  '==': binary(sameValue),
  '!=': binary((left, right) => !sameValue(left, right)),
  '<': binary((left, right) => long(left) < long(right)),
  '<=': binary((left, right) => long(left) <= long(right)),
  '>': binary((left, right) => long(left) > long(right)),
  '>=': binary((left, right) => long(left) >= long(right)),
  in: binary((left, right, request) =>
    isIn(request, entity(left), isSet(right) ? right.map(entity) : [entity(right)]),
  ),
  contains: binary((left, right) => includes(set(left), right)),
  containsAll: binary((left, right) => subset(set(right), set(left))),
  containsAny: binary((left, right) => {
    const [whole, part] = [set(left), set(right)];
    return part.some((value) => includes(whole, value));
  }),
  isEmpty: (json) => {
    const evaluate = compile((json as { arg: Expr }).arg);
    return (request) => set(evaluate(request)).length === 0;
  },
  '.': (json) => {
    const { left, attr } = json as { left: Expr; attr: string };
    const evaluate = compile(left);
    return (request) => attribute(attributesOf(request, evaluate(request)), attr);
  },
  has: (json) => hasPath(json as { left: Expr; attr: string | string[] }),
  is: (json) => {
    const { left, entity_type: type, in: within } = json as { left: Expr; entity_type: string; in?: Expr };
    const [evaluate, group] = [compile(left), within === undefined ? null : compile(within)];
    return (request) => {
      const value = entity(evaluate(request));
      if (value.__entity.type !== type) return false;
      if (group === null) return true;
      const groups = group(request);
      return isIn(request, value, isSet(groups) ? groups.map(entity) : [entity(groups)]);
    };
  },
  like: (json) => {
    const { left, pattern } = json as { left: Expr; pattern: Pattern };
    const [evaluate, matches] = [compile(left), matcherOf(pattern)];
    return (request) => matches(string(evaluate(request)));
  },
};

function logical(json: Operands, join: (left: Satisfied, right: Satisfied) => Satisfied): Evaluate {
  return join(condition(json.left), condition(json.right));
}

/** `a has b.c` asks at every step, and an absent step is a no, not an error. */
function hasPath(json: { left: Expr; attr: string | string[] }): Evaluate {
  const evaluate = compile(json.left);
  const path = typeof json.attr === 'string' ? [json.attr] : json.attr;
  return (request) => {
    let value: CedarValue = evaluate(request);
    for (const name of path) {
      const attributes = attributesOf(request, value, {});
      const next: CedarValue | undefined = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
      if (next === undefined) return false;
      value = next;
    }
    return true;
  };
}

type Pattern = readonly ('Wildcard' | { Literal: string })[];

/** In linear time, whatever the pattern: the parts between wildcards are found one after the other. */
function matcherOf(pattern: Pattern): (text: string) => boolean {
  const parts = [''];
  for (const part of pattern) {
    if (part === 'Wildcard') parts.push('');
    else parts[parts.length - 1] += part.Literal;
  }
  const [first = '', ...rest] = parts;
  const last = rest.pop();
  if (last === undefined) return (text) => text === first;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let from = first.length;
    for (const part of rest) {
      const at = text.indexOf(part, from);
      if (at === -1) return false;
      from = at + part.length;
    }
    return text.length - last.length >= from && text.endsWith(last);
  };
}

function literal(json: unknown): CedarValue {
  if (typeof json === 'boolean' || typeof json === 'string') return json;
  if (typeof json === 'number' && Number.isSafeInteger(json)) return json;
  if (Array.isArray(json)) return json.map(literal);
  if (memberOf(json, '__entity') !== undefined) return refOf(json);
  throw new UnsupportedCedar('literal');
}

function attributesOf(request: CedarRequest, value: CedarValue, absent?: CedarRecord): CedarRecord {
  if (isEntity(value)) {
    const known: CedarEntity | undefined = request.entities.get(keyOf(value));
    if (known !== undefined) return known.attrs;
    if (absent !== undefined) return absent;
    throw new CedarEvaluationError('the entity does not exist');
  }
  if (typeof value === 'object' && isRecord(value)) return value;
  throw new CedarEvaluationError('only records and entities have attributes');
}

function attribute(attributes: CedarRecord, name: string): CedarValue {
  const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (value === undefined) throw new CedarEvaluationError('the attribute does not exist');
  return value;
}

function expected(type: string): CedarEvaluationError {
  return new CedarEvaluationError(`expected a ${type}`);
}

function boolean(value: CedarValue): boolean {
  if (typeof value !== 'boolean') throw expected('Bool');
  return value;
}

function long(value: CedarValue): number {
  if (typeof value !== 'number') throw expected('Long');
  return value;
}

function string(value: CedarValue): string {
  if (typeof value !== 'string') throw expected('String');
  return value;
}

function set(value: CedarValue): readonly CedarValue[] {
  if (!isSet(value)) throw expected('Set');
  return value;
}

function entity(value: CedarValue): EntityRef {
  if (!isEntity(value)) throw expected('entity');
  return value;
}

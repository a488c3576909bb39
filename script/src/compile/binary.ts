import { nativesNamed } from '../builtins/registry.ts';
import { isFault, placed } from '../errors.ts';
import { functionNotFound } from '../faults.ts';
import { readText } from '../meter.ts';
import type { BinaryNode, UnaryNode } from '../parser/ast.ts';
import { nowhere, type Position } from '../position.ts';
import { noSuchOperator, type Operator, operators } from '../values/arithmetic.ts';
import { equals, order } from '../values/compare.ts';
import { negateInt } from '../values/int.ts';
import { tempRef } from '../values/ref.ts';
import { float, Kind, type Value } from '../values/value.ts';
import { type Code, plain, withOperands } from './code.ts';
import { type Context, lookAt } from './context.ts';
import { fastBinary } from './fast-binary.ts';
import { runNative, selectNative } from './invoke.ts';
import type { Runtime } from './runtime.ts';

export type Apply = (rt: Runtime, a: Value, b: Value) => Value;

/** Arithmetic faults name no position in an expression; it is kept aside for the caret. */
function quietly(error: unknown, position: Position): unknown {
  if (isFault(error) && error.position === nowhere) error.quiet = position;
  return error;
}

function applyOperator(
  rt: Runtime,
  name: string,
  operator: Operator,
  a: Value,
  b: Value,
  position: Position,
): Value {
  let result: ReturnType<Operator>;
  try {
    result = operator(rt, a, b);
  } catch (error) {
    throw quietly(error, position);
  }
  if (result === noSuchOperator) throw functionNotFound(name.trim(), [a, b], position);
  return result;
}

function comparison(op: string, position: Position): Apply | null {
  const undefinedFor = (a: Value, b: Value) => functionNotFound(op, [a, b], position);
  const ordered =
    (test: (sign: number) => boolean): Apply =>
    (rt, a, b) => {
      if (typeof a === 'string') readText(rt, a);
      const sign = order(a, b);
      if (sign === null) throw undefinedFor(a, b);
      return test(sign);
    };
  switch (op) {
    case '==':
    case '!=':
      return (rt, a, b) => {
        try {
          const same = equals(rt, a, b);
          return op === '==' ? same : !same && !isNanPair(a, b);
        } catch (error) {
          throw placed(error, position);
        }
      };
    case '<':
      return ordered((sign) => sign < 0);
    case '<=':
      return ordered((sign) => sign <= 0);
    case '>':
      return ordered((sign) => sign > 0);
    case '>=':
      return ordered((sign) => sign >= 0);
    default:
      return null;
  }
}

/** With the engine's way of comparing floats, NaN is neither equal nor unequal to anything. */
const isNanPair = (a: Value, b: Value): boolean => isNan(a) || isNan(b);
const isNan = (value: Value): boolean =>
  typeof value === 'object' && value.k === Kind.float && Number.isNaN(value.v);

function binaryApply(op: string, position: Position): Apply {
  const compare = comparison(op, position);
  if (compare !== null) return compare;
  const operator = operators[op] as Operator;
  return (rt, a, b) => applyOperator(rt, op, operator, a, b, position);
}

export function compileBinary(node: BinaryNode, context: Context): Code {
  if (node.op === 'in' || node.op === '!in') return compileIn(node, context);
  const left = lookAt(node.left, context);
  const right = lookAt(node.right, context);
  const apply = binaryApply(node.op, node.position);
  if (left.waits || right.waits)
    return withOperands([left, right], 1, (rt, _, [a, b]) => apply(rt, a, b), false);
  const cost = left.cost + right.cost + 1;
  const run = fastBinary(node, left.run, right.run, apply);
  return plain(run, cost);
}

/** `x in y` is `contains(y, x)`, which a script may define itself. */
function compileIn(node: BinaryNode, context: Context): Code {
  const { program } = context;
  const { position } = node;
  const natives = nativesNamed('contains').filter((native) => native.types.length === 2);
  // The container comes first, as in the call that this stands for.
  const operands = [lookAt(node.right, context), lookAt(node.left, context)];
  return withOperands(
    operands,
    2,
    (rt, _, args) => {
      const native = selectNative(natives, args);
      if (native === null) throw functionNotFound('contains', args, position);
      const found = runNative(rt, program, native, args, tempRef(rt, args[0]), position) as Value;
      return node.op === 'in' ? found : !found;
    },
    false,
  );
}

export function compileUnary(node: UnaryNode, context: Context): Code {
  const operand = lookAt(node.operand, context);
  const { op, position } = node;
  if (op === '!' && !operand.waits) {
    const { run } = operand;
    return plain((rt, s) => {
      const value = run(rt, s);
      return typeof value === 'boolean' ? !value : applyUnary(op, value, position);
    }, operand.cost + 1);
  }
  return withOperands([operand], 1, (_, __, [value]) => applyUnary(op, value, position), false);
}

function applyUnary(op: string, value: Value, position: Position): Value {
  if (op === '!' && typeof value === 'boolean') return !value;
  if (op !== '!') {
    const isInt = typeof value === 'number' || typeof value === 'bigint';
    const isFloat = typeof value === 'object' && value.k === Kind.float;
    if (op === '+' && (isInt || isFloat)) return value;
    if (isFloat) return float(-value.v);
    if (isInt) return negate(value, position);
  }
  throw functionNotFound(op, [value], position);
}

function negate(value: number | bigint, position: Position): Value {
  try {
    return negateInt(value);
  } catch (error) {
    if (isFault(error)) error.position = position;
    throw error;
  }
}

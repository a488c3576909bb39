import type { BinaryNode, Expression } from '../parser/ast.ts';
import { float, Kind, type Value } from '../values/value.ts';
import type { Apply } from './binary.ts';
import type { Frame, Run, Runtime } from './runtime.ts';

// Each operator has its own closures, so that the JavaScript engine sees one shape of work in each. They answer for
// small integers (and floats where scripts compute with them) and leave everything else to `apply`.

const limit = Number.MAX_SAFE_INTEGER;

/** The slot of a plain local variable, or -1. */
export const localSlot = (node: Expression): number =>
  node.type === 'variable' && node.variable !== null && !node.variable.captured ? node.variable.slot : -1;

/** A small integer literal, or null. */
const literal = (node: Expression): number | null =>
  node.type === 'const' && typeof node.value === 'number' ? node.value : null;

type Build = (left: Run, right: Run, apply: Apply) => Run;
type BuildLocal = (slot: number, constant: number, apply: Apply) => Run;

const isFloat = (value: Value): value is { k: typeof Kind.float; v: number } =>
  typeof value === 'object' && value.k === Kind.float;

/** Compared at once; long texts are paid for. */
const isQuick = (value: Value): boolean =>
  typeof value !== 'object' && (typeof value !== 'string' || value.length <= 1024);

const general: Readonly<Record<string, Build>> = {
  '+': (left, right, apply) => (rt, s) => {
    const a = left(rt, s);
    const b = right(rt, s);
    if (typeof a === 'number' && typeof b === 'number') {
      const c = a + b;
      if (c <= limit && c >= -limit) return c;
    } else if (isFloat(a) && isFloat(b)) return float(a.v + b.v);
    return apply(rt, a, b);
  },
  '-': (left, right, apply) => (rt, s) => {
    const a = left(rt, s);
    const b = right(rt, s);
    if (typeof a === 'number' && typeof b === 'number') {
      const c = a - b;
      if (c <= limit && c >= -limit) return c;
    } else if (isFloat(a) && isFloat(b)) return float(a.v - b.v);
    return apply(rt, a, b);
  },
  '*': (left, right, apply) => (rt, s) => {
    const a = left(rt, s);
    const b = right(rt, s);
    if (typeof a === 'number') {
      if (typeof b === 'number') {
        const c = a * b + 0;
        if (c <= limit && c >= -limit) return c;
      } else if (isFloat(b)) return float(a * b.v);
    } else if (isFloat(a) && isFloat(b)) return float(a.v * b.v);
    return apply(rt, a, b);
  },
  '%': (left, right, apply) => (rt, s) => {
    const a = left(rt, s);
    const b = right(rt, s);
    if (typeof a === 'number' && typeof b === 'number' && b !== 0) return (a % b) + 0;
    return apply(rt, a, b);
  },
  '<': (left, right, apply) => (rt, s) => {
    const a = left(rt, s);
    const b = right(rt, s);
    return typeof a === 'number' && typeof b === 'number' ? a < b : apply(rt, a, b);
  },
  '<=': (left, right, apply) => (rt, s) => {
    const a = left(rt, s);
    const b = right(rt, s);
    return typeof a === 'number' && typeof b === 'number' ? a <= b : apply(rt, a, b);
  },
  '>': (left, right, apply) => (rt, s) => {
    const a = left(rt, s);
    const b = right(rt, s);
    return typeof a === 'number' && typeof b === 'number' ? a > b : apply(rt, a, b);
  },
  '==': (left, right, apply) => (rt, s) => {
    const a = left(rt, s);
    const b = right(rt, s);
    return isQuick(a) && typeof b !== 'object' ? a === b : apply(rt, a, b);
  },
  '!=': (left, right, apply) => (rt, s) => {
    const a = left(rt, s);
    const b = right(rt, s);
    return isQuick(a) && typeof b !== 'object' ? a !== b : apply(rt, a, b);
  },
};

const localAndLiteral: Readonly<Record<string, BuildLocal>> = {
  '+': (slot, b, apply) => (rt, s) => {
    const a = s[slot] as Value;
    if (typeof a === 'number') {
      const c = a + b;
      if (c <= limit && c >= -limit) return c;
    }
    return apply(rt, a, b);
  },
  '-': (slot, b, apply) => (rt, s) => {
    const a = s[slot] as Value;
    if (typeof a === 'number') {
      const c = a - b;
      if (c <= limit && c >= -limit) return c;
    }
    return apply(rt, a, b);
  },
  '%': (slot, b, apply) => (rt, s) => {
    const a = s[slot] as Value;
    return typeof a === 'number' && b !== 0 ? (a % b) + 0 : apply(rt, a, b);
  },
  '<': (slot, b, apply) => (rt, s) => {
    const a = s[slot] as Value;
    return typeof a === 'number' ? a < b : apply(rt, a, b);
  },
  '==': (slot, b, apply) => (rt, s) => {
    const a = s[slot] as Value;
    return typeof a !== 'object' ? a === b : apply(rt, a, b);
  },
};

export function fastBinary(node: BinaryNode, left: Run, right: Run, apply: Apply): Run {
  const slot = localSlot(node.left);
  const constant = literal(node.right);
  const local = localAndLiteral[node.op];
  if (slot >= 0 && constant !== null && local !== undefined) return local(slot, constant, apply);
  const build = general[node.op];
  return build === undefined
    ? (rt: Runtime, s: Frame) => apply(rt, left(rt, s), right(rt, s))
    : build(left, right, apply);
}

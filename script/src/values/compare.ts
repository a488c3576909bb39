import { functionNotFound } from '../faults.ts';
import { type Meter, readText, spend } from '../meter.ts';
import { nowhere } from '../position.ts';
import { compareText } from './order.ts';
import { type ArrayValue, Kind, type MapValue, type Value } from './value.ts';

const epsilon = 2.220446049250313e-16;

/** Floats are equal when they differ by less than the rounding of one operation; NaN then equals nothing. */
function floatGap(x: number, y: number): number {
  if (x === y) return 0;
  const size = x * y === 0 ? 1 : Math.max(Math.abs(x), Math.abs(y));
  return (x - y) / size;
}

/** The pair as floats if one of them is a float and both are numbers. */
export function floatOf(value: Value): number | null {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'object' && value.k === Kind.float ? value.v : null;
}

export const textOf = (value: Value): string | null =>
  typeof value === 'string' ? value : typeof value === 'object' && value.k === Kind.char ? value.c : null;

/** Throws when the engine has no such function for the two. */
export function equals(meter: Meter, a: Value, b: Value): boolean {
  if (typeof a === 'string' && typeof b === 'string' && a.length === b.length) readText(meter, a);
  if (typeof a !== 'object' && typeof b !== 'object') return a === b;
  const x = floatOf(a);
  const y = floatOf(b);
  if (x !== null && y !== null) return Math.abs(floatGap(x, y)) <= epsilon;
  const s = textOf(a);
  const t = textOf(b);
  if (s !== null && t !== null) return s === t;
  if (typeof a !== 'object' || typeof b !== 'object' || a.k !== b.k) return false;
  if (a.k === Kind.array && b.k === Kind.array) return equalArrays(meter, a, b);
  if (a.k === Kind.map && b.k === Kind.map) return equalMaps(meter, a, b);
  if (a.k === Kind.blob && b.k === Kind.blob) {
    spend(meter, a.bytes.length);
    return a.bytes.length === b.bytes.length && a.bytes.every((byte, i) => byte === b.bytes[i]);
  }
  if (a.k === Kind.range && b.k === Kind.range)
    if (a.inclusive === b.inclusive) return a.start === b.start && a.end === b.end;
  if (a.k === Kind.timestamp && b.k === Kind.timestamp) return a.ms === b.ms;
  throw functionNotFound('==', [a, b], nowhere);
}

function equalArrays(meter: Meter, a: ArrayValue, b: ArrayValue): boolean {
  if (a.items.length !== b.items.length) return false;
  spend(meter, a.items.length + 16);
  for (let i = 0; i < a.items.length; i++) {
    if (!equals(meter, a.items[i], b.items[i])) return false;
  }
  return true;
}

function equalMaps(meter: Meter, a: MapValue, b: MapValue): boolean {
  if (a.entries.size !== b.entries.size) return false;
  spend(meter, a.entries.size + 16);
  for (const [key, value] of a.entries) {
    if (!b.entries.has(key)) return false;
    if (!equals(meter, value, b.entries.get(key))) return false;
  }
  return true;
}

/** The sign tells the order; NaN for values that have none, null when the engine has no such function. */
export function order(a: Value, b: Value): number | null {
  if (isInt(a) && isInt(b)) return a < b ? -1 : a > b ? 1 : 0;
  const x = floatOf(a);
  const y = floatOf(b);
  if (x !== null && y !== null) return floatOrder(x, y);
  const s = textOf(a);
  const t = textOf(b);
  if (s !== null && t !== null) return compareText(s, t);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (typeof a !== 'object' || typeof b !== 'object' || a.k !== b.k) return Number.NaN;
  if (a.k === Kind.timestamp && b.k === Kind.timestamp) return a.ms - b.ms;
  return null;
}

const isInt = (value: Value): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

function floatOrder(x: number, y: number): number {
  const gap = floatGap(x, y);
  if (Number.isNaN(gap)) return x < y ? -1 : x > y ? 1 : Number.NaN;
  return Math.abs(gap) <= epsilon ? 0 : gap;
}

/** Exactly the same type and value, as `switch` and a set of labels want it. */
export function identical(meter: Meter, a: Value, b: Value): boolean {
  if (typeof a === 'string' && typeof b === 'string' && a.length === b.length) readText(meter, a);
  if (typeof a !== 'object' || typeof b !== 'object') return a === b;
  if (a.k !== b.k) return false;
  if (a.k === Kind.float && b.k === Kind.float) return a.v === b.v;
  return a.k !== Kind.fn && a.k !== Kind.sequence && equals(meter, a, b);
}

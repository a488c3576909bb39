import { charge, checkArray, checkText, hold, type Meter, newEntries, newItems, newText } from '../meter.ts';
import { floatOf, textOf } from './compare.ts';
import {
  addInts,
  andInts,
  divideInts,
  maxInt,
  multiplyInts,
  orInts,
  powerOfInts,
  remainderOfInts,
  shiftLeft,
  shiftRight,
  subtractInts,
  xorInts,
} from './int.ts';
import {
  array,
  type BlobValue,
  blob,
  float,
  type Int,
  Kind,
  type MapValue,
  map,
  range,
  share,
  type Value,
} from './value.ts';
import { textOfValue } from './written.ts';

/** What an operator answers when it is not defined for its operands. */
export const noSuchOperator = Symbol('no such operator');
export type Operator = (meter: Meter, a: Value, b: Value) => Value | typeof noSuchOperator;

const isInt = (value: Value): value is Int => typeof value === 'number' || typeof value === 'bigint';

/** Integers stay integers; a float on either side makes both floats. */
const numeric =
  (ints: (a: Int, b: Int) => Int, floats: (a: number, b: number) => number, other: Operator): Operator =>
  (meter, a, b) => {
    if (typeof a === 'object' && typeof b === 'object' && a.k === Kind.float && b.k === Kind.float)
      return float(floats(a.v, b.v));
    if (isInt(a) && isInt(b)) return ints(a, b);
    const x = floatOf(a);
    const y = x === null ? null : floatOf(b);
    return x !== null && y !== null ? float(floats(x, y)) : other(meter, a, b);
  };

const bitwise =
  (ints: (a: Int, b: Int) => Int, bools: ((a: boolean, b: boolean) => boolean) | null): Operator =>
  (_, a, b) => {
    if (isInt(a) && isInt(b)) return ints(a, b);
    if (bools !== null && typeof a === 'boolean' && typeof b === 'boolean') return bools(a, b);
    return noSuchOperator;
  };

const undefinedFor: Operator = () => noSuchOperator;

const addOthers: Operator = (meter, a, b) => {
  const s = textOf(a);
  const t = textOf(b);
  if (s !== null && t !== null) return concat(meter, s, t);
  if (typeof a === 'string') return concat(meter, a, appendable(meter, b));
  if (typeof b === 'string') return concat(meter, appendable(meter, a), b);
  if (typeof a !== 'object' || typeof b !== 'object') return addSeconds(a, b, 1);
  if (a.k === Kind.array && b.k === Kind.array) {
    newItems(meter, a.items.length + b.items.length, a.items.length + b.items.length);
    return array([...a.items.map(share), ...b.items.map(share)]);
  }
  if (a.k === Kind.map && b.k === Kind.map) return mergeMaps(meter, a, b);
  if (a.k === Kind.blob && b.k === Kind.blob) return joinBlobs(meter, a, b);
  return addSeconds(a, b, 1);
};

function appendable(meter: Meter, value: Value): string {
  if (typeof value === 'object' && value.k === Kind.blob)
    return new TextDecoder().decode(Uint8Array.from(value.bytes));
  return textOfValue(meter, value);
}

/** A rope of what exists: only what is added takes time; whoever reads it has it written out, in full length. */
export function concat(meter: Meter, a: string, b: string): string {
  const length = a.length + b.length;
  if (length > 64) {
    checkText(meter, length);
    const added = Math.min(a.length, b.length) * 2 + 32;
    charge(meter, added);
    hold(meter, length * 2 - added);
  }
  return a + b;
}

function mergeMaps(meter: Meter, a: MapValue, b: MapValue): MapValue {
  newEntries(meter, a.entries.size + b.entries.size, Math.max(a.entries.size, b.entries.size));
  const entries = new Map<string, Value>();
  for (const [key, value] of a.entries) entries.set(key, share(value));
  for (const [key, value] of b.entries) entries.set(key, share(value));
  newEntries(meter, 0, entries.size);
  return map(entries);
}

function joinBlobs(meter: Meter, a: BlobValue, b: BlobValue): BlobValue {
  checkArray(meter, a.bytes.length + b.bytes.length);
  charge(meter, (a.bytes.length + b.bytes.length) * 8);
  return blob([...a.bytes, ...b.bytes]);
}

function addSeconds(a: Value, b: Value, sign: 1 | -1): Value | typeof noSuchOperator {
  const seconds = floatOf(b);
  if (typeof a !== 'object' || a.k !== Kind.timestamp || seconds === null) return noSuchOperator;
  return { k: Kind.timestamp, ms: a.ms + sign * seconds * 1000 };
}

const subtractOthers: Operator = (meter, a, b) => {
  const t = textOf(b);
  if (typeof a === 'string' && t !== null) {
    charge(meter, a.length);
    return t === '' ? a : newText(meter, a.replaceAll(t, ''));
  }
  if (typeof a === 'object' && typeof b === 'object' && a.k === Kind.timestamp && b.k === Kind.timestamp)
    return float((a.ms - b.ms) / 1000);
  return addSeconds(a, b, -1);
};

const makeRange =
  (inclusive: boolean, open: boolean): Operator =>
  (_, a, b) => {
    if (!isInt(a)) return noSuchOperator;
    if (open) return range(a, maxInt, inclusive, true);
    return isInt(b) ? range(a, b, inclusive) : noSuchOperator;
  };

/** Everything but comparison, which is defined for any two types. */
export const operators: Readonly<Record<string, Operator>> = {
  '+': numeric(addInts, (a, b) => a + b, addOthers),
  '-': numeric(subtractInts, (a, b) => a - b, subtractOthers),
  '*': numeric(multiplyInts, (a, b) => a * b, undefinedFor),
  '/': numeric(divideInts, (a, b) => a / b, undefinedFor),
  '%': numeric(remainderOfInts, (a, b) => a % b, undefinedFor),
  '**': numeric(powerOfInts, (a, b) => a ** b, undefinedFor),
  '<<': bitwise(shiftLeft, null),
  '>>': bitwise(shiftRight, null),
  '&': bitwise(andInts, (a, b) => a && b),
  '|': bitwise(orInts, (a, b) => a || b),
  '^': bitwise(xorInts, (a, b) => a !== b),
  '..': makeRange(false, false),
  '..=': makeRange(true, false),
  '.. ': makeRange(false, true),
  '..= ': makeRange(true, true),
};

import { type Meter, readText, spend } from '../meter.ts';
import { charCount, charsOf, visitText } from './chars.ts';
import { Type } from './kinds.ts';
import {
  type ArrayValue,
  type BlobValue,
  char,
  type FloatValue,
  type FnValue,
  float,
  type Int,
  type RangeValue,
  sequence,
  type TimestampValue,
  type Value,
} from './value.ts';

/** A property that built-in types have, usable with and without parentheses. */
export interface Getter {
  readonly name: string;
  readonly types: number;
  readonly get: (meter: Meter, value: Value) => Value;
}

/** Half away from zero, which JavaScript rounds up. */
const roundHalfAway = (v: number): number => Math.sign(v) * Math.round(Math.abs(v));

const floatGetter = (name: string, compute: (v: number) => number): Getter => ({
  name,
  types: Type.float,
  get: (_, value) => float(compute((value as FloatValue).v)),
});
const floatTest = (name: string, test: (v: number) => boolean): Getter => ({
  name,
  types: Type.float,
  get: (_, value) => test((value as FloatValue).v),
});
const rangeGetter = (name: string, get: (range: RangeValue) => Value): Getter => ({
  name,
  types: Type.range,
  get: (_, value) => get(value as RangeValue),
});

function lengthOf(meter: Meter, value: Value): number {
  if (typeof value === 'string') {
    visitText(meter, value);
    return charCount(value);
  }
  const container = value as ArrayValue | BlobValue;
  return 'items' in container ? container.items.length : container.bytes.length;
}

const emptyRange = ({ start, end, inclusive }: RangeValue): boolean =>
  inclusive ? start > end : start >= end;

function byteLength(meter: Meter, text: string): number {
  readText(meter, text);
  return new TextEncoder().encode(text).length;
}

export const bitSequence = (value: Int, start: number, length: number): Value =>
  sequence(length, (i) => ((BigInt.asUintN(64, BigInt(value)) >> BigInt(start + i)) & 1n) === 1n);

export function charSequence(meter: Meter, text: string): Value {
  spend(meter, text.length);
  const chars = charsOf(text);
  return sequence(chars.length, (i) => char(chars[i] ?? ''));
}

const table: readonly Getter[] = [
  { name: 'len', types: Type.string | Type.array | Type.blob, get: lengthOf },
  {
    name: 'is_empty',
    types: Type.string | Type.array | Type.blob | Type.range,
    get: (meter, value) =>
      typeof value === 'object' && 'start' in value ? emptyRange(value) : lengthOf(meter, value) === 0,
  },
  { name: 'bytes', types: Type.string, get: (meter, text) => byteLength(meter, text as string) },
  { name: 'chars', types: Type.string, get: (meter, text) => charSequence(meter, text as string) },
  { name: 'is_even', types: Type.int, get: (_, n) => BigInt(n as Int) % 2n === 0n },
  { name: 'is_odd', types: Type.int, get: (_, n) => BigInt(n as Int) % 2n !== 0n },
  {
    name: 'is_zero',
    types: Type.int | Type.float,
    get: (_, n) => (typeof n === 'object' ? (n as FloatValue).v === 0 : n === 0),
  },
  { name: 'bits', types: Type.int, get: (_, n) => bitSequence(n as Int, 0, 64) },
  floatGetter('floor', Math.floor),
  floatGetter('ceiling', Math.ceil),
  floatGetter('round', roundHalfAway),
  floatGetter('int', Math.trunc),
  floatGetter('fraction', (v) => v - Math.trunc(v)),
  floatTest('is_nan', Number.isNaN),
  floatTest('is_finite', Number.isFinite),
  floatTest('is_infinite', (v) => Math.abs(v) === Number.POSITIVE_INFINITY),
  rangeGetter('start', ({ start }) => start),
  rangeGetter('end', ({ end }) => end),
  rangeGetter('is_inclusive', ({ inclusive }) => inclusive),
  rangeGetter('is_exclusive', ({ inclusive }) => !inclusive),
  { name: 'name', types: Type.fn, get: (_, fn) => (fn as FnValue).name },
  { name: 'is_anonymous', types: Type.fn, get: (_, fn) => (fn as FnValue).closure !== null },
  {
    name: 'elapsed',
    types: Type.timestamp,
    get: (meter, at) => float((meter.now() - (at as TimestampValue).ms) / 1000),
  },
];

export const getters: ReadonlyMap<string, Getter> = new Map(table.map((getter) => [getter.name, getter]));

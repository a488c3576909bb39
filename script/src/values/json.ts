import { isFault, placed, ScriptError } from '../errors.ts';
import { defaultLimits } from '../limits.ts';
import { tooLarge } from '../meter.ts';
import { type Position, positionAt } from '../position.ts';
import { orderedKeys } from './order.ts';
import {
  type Container,
  floatText,
  type Ink,
  isContainer,
  maxNesting,
  plainText,
  put,
  shortened,
  stop,
  writeDebug,
} from './text.ts';
import { array, float, Kind, map, type Value } from './value.ts';

/** JSON with integers of 64 bits: those beyond 2^53 are bigints. */
export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/** Where a value leaves the script, and how much of it may. */
export interface ResultLimit {
  readonly place: Position;
  readonly maxBytes: number;
}

const unplaced: ResultLimit = { place: positionAt(1, 1), maxBytes: defaultLimits.resultBytes };

/** A value as it leaves the script: a copy that shares nothing with it. Throws a `ScriptError` if it is too large. */
export function toJson(value: Value, { place, maxBytes }: ResultLimit = unplaced): Json {
  try {
    requireSize([value], maxBytes, 'Size of result');
    return copyToJson(value);
  } catch (error) {
    throw isFault(error) ? new ScriptError(placed(error, place) as typeof error) : error;
  }
}

/** The same inside of a run, where failures are faults. */
export function argumentsToJson(values: readonly Value[], maxBytes: number): Json[] {
  requireSize(values, maxBytes, 'Size of arguments');
  return values.map(copyToJson);
}

function requireSize(values: readonly Value[], maxBytes: number, what: string): void {
  const size: Size = { left: maxBytes, keys: new Set() };
  for (const value of values) take(size, value, 0, what);
}

interface Size {
  left: number;
  /** Those seen so far. */
  readonly keys: Set<string>;
}

/** Beside what is written, what the receiver has to make of it: many small values are more work than one long text. */
const weight = { plain: 8, bigint: 64, container: 32, newKey: 64 } as const;

const weightOf = (value: Value): number => {
  if (typeof value === 'object') return weight.container;
  return typeof value === 'bigint' ? weight.bigint : weight.plain;
};

/** Looks no further than the limit: a value that holds another in many places may be endless when written out. */
function take(size: Size, value: Value, depth: number, what: string): void {
  if (depth > maxNesting) throw tooLarge('Nesting of values');
  size.left -= weightOf(value);
  if (typeof value === 'string') takeText(size, value);
  else if (typeof value === 'object') takeOwn(size, value);
  if (size.left < 0) throw tooLarge(what);
  if (typeof value !== 'object') return;
  if (value.k === Kind.array) for (const item of value.items) take(size, item, depth + 1, what);
  if (value.k !== Kind.map) return;
  for (const [key, item] of value.entries) {
    takeKey(size, key);
    take(size, item, depth + 1, what);
  }
}

function takeOwn(size: Size, value: Extract<Value, object>): void {
  if (value.k === Kind.fn) takeText(size, value.name);
  else if (value.k === Kind.blob) size.left -= value.bytes.length * weight.plain;
}

/** A text that is too long by itself is not written out to learn by how much. */
function takeText(size: Size, text: string): void {
  size.left -= text.length > size.left ? text.length : Buffer.byteLength(JSON.stringify(text));
}

function takeKey(size: Size, key: string): void {
  takeText(size, key);
  if (size.keys.has(key)) return;
  size.keys.add(key);
  size.left -= weight.newKey;
}

function copyToJson(value: Value): Json {
  if (value === undefined) return null;
  return typeof value === 'object' ? boxedToJson(value) : value;
}

function boxedToJson(value: Extract<Value, object>): Json {
  switch (value.k) {
    case Kind.float:
      return Number.isFinite(value.v) ? value.v : null;
    case Kind.char:
      return value.c;
    case Kind.array:
      return value.items.map(copyToJson);
    case Kind.map: {
      const object = Object.create(null) as Record<string, Json>;
      for (const key of orderedKeys(value)) object[key] = copyToJson(value.entries.get(key));
      return object;
    }
    case Kind.blob:
      return value.bytes.slice();
    case Kind.fn:
      return value.name;
    case Kind.range:
    case Kind.sequence:
    case Kind.timestamp:
      return plainText(value);
  }
}

const int64 = (value: bigint): Value =>
  value >= -(2n ** 63n) && value < 2n ** 63n
    ? Number.isSafeInteger(Number(value))
      ? Number(value)
      : value
    : float(Number(value));

/** A value as it enters: whole numbers are integers, others floats; own properties only. */
export function fromJson(json: unknown): Value {
  if (typeof json === 'boolean' || typeof json === 'string') return json;
  if (typeof json === 'bigint') return int64(json);
  if (typeof json === 'number') return Number.isSafeInteger(json) ? json + 0 : float(json);
  if (typeof json !== 'object' || json === null) return undefined;
  if (Array.isArray(json)) return array(json.map(fromJson));
  if (json instanceof Date) return json.toISOString();
  return map(new Map(Object.entries(json).map(([key, item]) => [key, fromJson(item)])));
}

/** Writes JSON that also holds for integers beyond 2^53. */
export function writeJson(ink: Ink, value: Value, depth = 0): void {
  if (depth > maxNesting) throw stop.deep;
  if (!isContainer(value)) {
    put(ink, plainJson(value));
  } else if (value.k === Kind.fn) {
    const name: Ink = { text: '', max: ink.max };
    writeDebug(name, value, depth);
    put(ink, JSON.stringify(name.text));
  } else if (value.k === Kind.array) {
    put(ink, '[');
    for (let i = 0; i < value.items.length; i++) {
      if (i > 0) put(ink, ',');
      writeJson(ink, value.items[i], depth + 1);
    }
    put(ink, ']');
  } else {
    let before = '{';
    for (const key of orderedKeys(value)) {
      put(ink, `${before}${JSON.stringify(key)}:`);
      writeJson(ink, value.entries.get(key), depth + 1);
      before = ',';
    }
    put(ink, value.entries.size === 0 ? '{}' : '}');
  }
}

function plainJson(value: Exclude<Value, Container>): string {
  if (value === undefined) return 'null';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object') return String(value);
  if (value.k === Kind.float) return Number.isFinite(value.v) ? floatText(value.v) : 'null';
  return JSON.stringify(value.k === Kind.blob ? value.bytes : plainText(value));
}

export const jsonText = (value: Value): string => shortened(writeJson, value);

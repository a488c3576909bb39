import { createFault, isFault, ScriptError } from '../errors.ts';
import { orderedKeys } from './order.ts';
import { floatText, toText } from './text.ts';
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

const maxNesting = 500;

/** A value as it leaves the script: a copy that shares nothing with it. Throws a `ScriptError` if it is nested too deeply. */
export function toJson(value: Value): Json {
  try {
    return copyToJson(value, 0);
  } catch (error) {
    throw isFault(error) ? new ScriptError(error) : error;
  }
}

/** The same inside of a run, where failures are faults. */
export function copyToJson(value: Value, depth: number): Json {
  if (value === undefined) return null;
  if (typeof value !== 'object') return value;
  if (depth > maxNesting) throw createFault('ErrorDataTooLarge', 'Nesting of values too large');
  return boxedToJson(value, depth + 1);
}

function boxedToJson(value: Extract<Value, object>, depth: number): Json {
  switch (value.k) {
    case Kind.float:
      return Number.isFinite(value.v) ? value.v : null;
    case Kind.char:
      return value.c;
    case Kind.array:
      return value.items.map((item) => copyToJson(item, depth));
    case Kind.map: {
      const object = Object.create(null) as Record<string, Json>;
      for (const key of orderedKeys(value)) object[key] = copyToJson(value.entries.get(key), depth);
      return object;
    }
    case Kind.blob:
      return value.bytes.slice();
    case Kind.fn:
      return value.name;
    case Kind.range:
    case Kind.sequence:
    case Kind.timestamp:
      return toText(value);
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
export function jsonText(value: Value): string {
  if (value === undefined) return 'null';
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object') return String(value);
  if (value.k === Kind.float) return Number.isFinite(value.v) ? floatText(value.v) : 'null';
  if (value.k === Kind.array) return `[${value.items.map(jsonText).join(',')}]`;
  if (value.k === Kind.blob) return JSON.stringify(value.bytes);
  if (value.k !== Kind.map) return JSON.stringify(toText(value));
  const entry = (key: string) => `${JSON.stringify(key)}:${jsonText(value.entries.get(key))}`;
  return `{${orderedKeys(value).map(entry).join(',')}}`;
}

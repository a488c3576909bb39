import type { CompiledFunction } from '../compile/runtime.ts';

/** An i64: a number while it is a safe integer, a bigint beyond; never both for one value. */
export type Int = number | bigint;

export const Kind = {
  float: 1,
  char: 2,
  array: 3,
  map: 4,
  blob: 5,
  fn: 6,
  range: 7,
  sequence: 8,
  timestamp: 9,
} as const;

/** Apart from integers, so boxed: 1 and 1.0 are different values, and integers are by far more frequent. */
export interface FloatValue {
  readonly k: typeof Kind.float;
  readonly v: number;
}
export interface CharValue {
  readonly k: typeof Kind.char;
  readonly c: string;
}
/**
 * Containers are copied on write. `shared` says that more than one place may hold the container; whoever wants to
 * change it through one of them replaces it there by a copy first. It is never taken back, at worst a copy too many.
 */
export interface ArrayValue {
  readonly k: typeof Kind.array;
  items: Value[];
  shared: boolean;
}
export interface MapValue {
  readonly k: typeof Kind.map;
  readonly entries: Map<string, Value>;
  shared: boolean;
  /** The keys in order, until one comes or goes. */
  sorted: readonly string[] | null;
}
export interface BlobValue {
  readonly k: typeof Kind.blob;
  bytes: number[];
  shared: boolean;
}
export interface FnValue {
  readonly k: typeof Kind.fn;
  readonly name: string;
  /** A closure, or null for a pointer that is looked up by name when it is called. */
  readonly closure: Closure | null;
  readonly curried: readonly Value[];
}
export interface Closure {
  readonly compiled: CompiledFunction;
  readonly cells: readonly Cell[];
  readonly globals: Map<string, Value> | null;
}
export interface RangeValue {
  readonly k: typeof Kind.range;
  readonly start: Int;
  readonly end: Int;
  readonly inclusive: boolean;
  /** Written without an end. */
  readonly open: boolean;
}
/** What `chars()`, `bits()` and stepped ranges give: only good for `for`. */
export interface SequenceValue {
  readonly k: typeof Kind.sequence;
  readonly length: number;
  readonly at: (index: number) => Value;
}
export interface TimestampValue {
  readonly k: typeof Kind.timestamp;
  readonly ms: number;
}

export type Container = ArrayValue | MapValue | BlobValue;
export type Boxed =
  | FloatValue
  | CharValue
  | Container
  | FnValue
  | RangeValue
  | SequenceValue
  | TimestampValue;
/** Unit is `undefined`, so that what is missing in a map reads as unit by itself. */
export type Value = undefined | boolean | Int | string | Boxed;

/** A variable that closures share. */
export interface Cell {
  v: Value;
  shared: boolean;
}

export const float = (v: number): FloatValue => ({ k: Kind.float, v });
export const array = (items: Value[]): ArrayValue => ({ k: Kind.array, items, shared: false });
export const map = (entries: Map<string, Value>): MapValue => ({
  k: Kind.map,
  entries,
  shared: false,
  sorted: null,
});
export const blob = (bytes: number[]): BlobValue => ({ k: Kind.blob, bytes, shared: false });
export const range = (start: Int, end: Int, inclusive: boolean, open = false): RangeValue => ({
  k: Kind.range,
  start,
  end,
  inclusive,
  open,
});
export const sequence = (length: number, at: (index: number) => Value): SequenceValue => ({
  k: Kind.sequence,
  length,
  at,
});
export const cell = (v: Value): Cell => ({ v, shared: false });

const asciiChars: readonly CharValue[] = Array.from({ length: 128 }, (_, code) => ({
  k: Kind.char,
  c: String.fromCharCode(code),
}));

export const char = (c: string): CharValue =>
  (c.length === 1 ? asciiChars[c.charCodeAt(0)] : undefined) ?? { k: Kind.char, c };

/** Says that a second place holds the value from now on. */
export function share(value: Value): Value {
  if (typeof value === 'object' && value.k >= Kind.array && value.k <= Kind.blob)
    (value as Container).shared = true;
  return value;
}

/** A copy that one place alone holds; what is inside is shared with the original. */
export function copyOf(container: Container): Container {
  if (container.k === Kind.blob) return blob(container.bytes.slice());
  if (container.k === Kind.array) {
    for (const item of container.items) share(item);
    return array(container.items.slice());
  }
  for (const item of container.entries.values()) share(item);
  const copy = map(new Map(container.entries));
  copy.sorted = container.sorted;
  return copy;
}

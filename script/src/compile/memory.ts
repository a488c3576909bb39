import { entryBytes, itemBytes } from '../meter.ts';
import { Kind, type Value } from '../values/value.ts';
import type { Frame, Runtime } from './runtime.ts';

/**
 * An estimate of what all values that the script can still reach take together. A text counts in each place that
 * holds it: JavaScript does not tell whether two equal texts are one.
 */
export function measure(rt: Runtime): number {
  const seen = new Set<object>();
  const bytes = walk([rt.frame, ...rt.scratch, [...rt.globals.values()], rt.output], seen);
  rt.left -= seen.size >> 4;
  return bytes;
}

/** The same of values that have only just come. */
export const sizeOf = (values: readonly Value[]): number => walk([...values], new Set());

function walk(pending: unknown[], seen: Set<object>): number {
  let bytes = 0;
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === 'string') bytes += next.length * 2;
    if (typeof next !== 'object' || next === null || seen.has(next)) continue;
    seen.add(next);
    bytes += itemBytes;
    for (const inner of partsOf(next as Value | Frame)) pending.push(inner);
  }
  return bytes;

  function* partsOf(value: unknown): Iterable<unknown> {
    if (Array.isArray(value)) {
      bytes += value.length * itemBytes;
      yield* value;
    } else if ('v' in (value as object)) {
      yield (value as { v: unknown }).v;
    } else if (typeof (value as { get?: unknown }).get === 'function') {
      yield (value as { get: () => unknown }).get();
    } else {
      yield* boxedParts(value as Extract<Value, object>);
    }
  }

  function* boxedParts(value: Extract<Value, object>): Iterable<unknown> {
    if (value.k === Kind.array) {
      bytes += value.items.length * itemBytes;
      yield* value.items;
    } else if (value.k === Kind.map) {
      bytes += value.entries.size * entryBytes;
      yield* value.entries.keys();
      yield* value.entries.values();
    } else if (value.k === Kind.blob) {
      bytes += value.bytes.length * 8;
    } else if (value.k === Kind.fn) {
      yield* value.curried;
      yield* value.closure?.cells ?? [];
    }
  }
}

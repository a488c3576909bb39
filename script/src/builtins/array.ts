import { createFault } from '../errors.ts';
import { charge, itemBytes, newItems, spend } from '../meter.ts';
import { equals, order } from '../values/compare.ts';
import { Type as T, typeBit, typeName } from '../values/kinds.ts';
import { offset, type Span, spanOf, spanOfRange } from '../values/span.ts';
import { type ArrayValue, array, type Int, type RangeValue, share, type Value } from '../values/value.ts';
import { type Native, type NativeRuntime, owning, pure } from './native.ts';

const items = (value: Value): Value[] => (value as ArrayValue).items;
const everything = Number.MAX_SAFE_INTEGER;

export function spanIn(list: readonly Value[], start: Value, count: Value = everything): Span {
  return typeof start === 'object'
    ? spanOfRange(start as RangeValue, list.length)
    : spanOf(start as Int, count as Int, list.length);
}

/** A list that holds values of another one. */
export function listOf(rt: NativeRuntime, values: readonly Value[]): Value {
  newItems(rt, values.length, values.length);
  return array(values.map(share));
}

function indexOf(rt: NativeRuntime, list: Value, wanted: Value, start: Value = 0): number {
  const all = items(list);
  spend(rt, all.length);
  for (let i = offset(start as Int, all.length); i < all.length; i++)
    if (equals(rt, all[i], wanted)) return i;
  return -1;
}

/** Only values of one type that has an order. */
export function sorted(rt: NativeRuntime, list: readonly Value[]): Value[] {
  spend(rt, list.length * 4);
  const [first] = list;
  if (first === undefined && list.length === 0) return [];
  const bit = typeBit(first);
  if ((bit & (T.int | T.float | T.string | T.char | T.bool | T.timestamp | T.unit)) === 0)
    throw createFault(
      'ErrorFunctionNotFound',
      `Function not found: elements of ${typeName(first)} cannot be sorted`,
    );
  if (list.some((item) => typeBit(item) !== bit))
    throw createFault(
      'ErrorFunctionNotFound',
      'Function not found: elements of different types cannot be sorted',
    );
  if (list.every((item) => typeof item === 'number')) return [...Float64Array.from(list as number[]).sort()];
  return list.toSorted((a, b) => order(a, b) || 0);
}

function fill(rt: NativeRuntime, list: Value, length: Value, value: Value): void {
  const all = items(list);
  const missing = Number(length) - all.length;
  if (missing <= 0) return;
  newItems(rt, missing, Number(length));
  share(value);
  for (let i = 0; i < missing; i++) all.push(value);
}

/** Takes a part out; what stays and what went. */
function cut(rt: NativeRuntime, list: Value, span: Span): Value[] {
  charge(rt, (span.end - span.start) * itemBytes);
  spend(rt, items(list).length);
  return items(list).splice(span.start, span.end - span.start);
}

function keep(rt: NativeRuntime, list: Value, span: Span): Value {
  charge(rt, items(list).length * itemBytes);
  const all = items(list);
  const kept = all.slice(span.start, span.end);
  const gone = [...all.slice(0, span.start), ...all.slice(span.end)];
  (list as ArrayValue).items = kept;
  return array(gone);
}

function dedup(rt: NativeRuntime, list: Value): void {
  const all = items(list);
  spend(rt, all.length);
  (list as ArrayValue).items = all.filter((item, i) => i === 0 || !equals(rt, all[i - 1], item));
}

const readers: readonly Native[] = [
  pure('get', [T.array, T.int], (_, [list, index]) => {
    const all = items(list);
    const at = Number(index);
    return share(all[at < 0 ? Math.max(0, all.length + at) : at]);
  }),
  pure('contains', [T.array, T.any], (rt, [list, wanted]) => indexOf(rt, list, wanted) >= 0),
  pure('index_of', [T.array, T.any & ~T.fn], (rt, [list, wanted]) => indexOf(rt, list, wanted)),
  pure('index_of', [T.array, T.any & ~T.fn, T.int], (rt, [list, wanted, start]) =>
    indexOf(rt, list, wanted, start),
  ),
  pure('extract', [T.array, T.int | T.range], (rt, [list, start]) => {
    const span = spanIn(items(list), start);
    return listOf(rt, items(list).slice(span.start, span.end));
  }),
  pure('extract', [T.array, T.int, T.int], (rt, [list, start, count]) => {
    const span = spanIn(items(list), start, count);
    return listOf(rt, items(list).slice(span.start, span.end));
  }),
  pure('order', [T.array], (rt, [list]) => listOf(rt, sorted(rt, items(list)))),
  pure('order_desc', [T.array], (rt, [list]) => listOf(rt, sorted(rt, items(list)).reverse())),
];

const writers: readonly Native[] = [
  owning('push', [T.array, T.any], (rt, [list, value]) => {
    newItems(rt, 1, items(list).length + 1);
    items(list).push(value);
    return undefined;
  }),
  owning('append', [T.array, T.array], (rt, [list, more]) => {
    const added = items(more).map(share);
    newItems(rt, added.length, items(list).length + added.length);
    for (const item of added) items(list).push(item);
    return undefined;
  }),
  owning('insert', [T.array, T.int, T.any], (rt, [list, index, value]) => {
    newItems(rt, 1, items(list).length + 1);
    spend(rt, items(list).length);
    items(list).splice(offset(index as Int, items(list).length), 0, value);
    return undefined;
  }),
  owning('set', [T.array, T.int, T.any], (_, [list, index, value]) => {
    const all = items(list);
    const at = (index as Int) < 0 ? all.length + Number(index) : Number(index);
    if (at >= 0 && at < all.length) all[at] = value;
    return undefined;
  }),
  owning('pop', [T.array], (_, [list]) => items(list).pop()),
  owning('shift', [T.array], (rt, [list]) => {
    spend(rt, items(list).length >> 4);
    return items(list).shift();
  }),
  owning('remove', [T.array, T.int], (rt, [list, index]) => {
    const all = items(list);
    const at = (index as Int) < 0 ? all.length + Number(index) : Number(index);
    if (at < 0 || at >= all.length) return undefined;
    spend(rt, all.length);
    return all.splice(at, 1)[0];
  }),
  owning('clear', [T.array], (_, [list]) => {
    items(list).length = 0;
    return undefined;
  }),
  owning('truncate', [T.array, T.int], (_, [list, count]) => {
    items(list).length = Math.min(items(list).length, Math.max(0, Number(count)));
    return undefined;
  }),
  owning('chop', [T.array, T.int], (rt, [list, count]) => {
    const all = items(list);
    const gone = all.length - Math.min(all.length, Math.max(0, Number(count)));
    cut(rt, list, { start: 0, end: gone });
    return undefined;
  }),
  owning('reverse', [T.array], (rt, [list]) => {
    spend(rt, items(list).length);
    items(list).reverse();
    return undefined;
  }),
  owning(
    'pad',
    [T.array, T.int, T.any],
    (rt, [list, length, value]) => fill(rt, list, length, value) as undefined,
  ),
  owning('split', [T.array, T.int], (rt, [list, index]) => array(cut(rt, list, spanIn(items(list), index)))),
  owning('dedup', [T.array], (rt, [list]) => dedup(rt, list) as undefined),
  owning('sort', [T.array], (rt, [list]) => {
    (list as ArrayValue).items = sorted(rt, items(list));
    return undefined;
  }),
  owning('sort_desc', [T.array], (rt, [list]) => {
    (list as ArrayValue).items = sorted(rt, items(list)).reverse();
    return undefined;
  }),
];

const partNatives: readonly Native[] = [
  owning('drain', [T.array, T.range], (rt, [list, range]) =>
    array(cut(rt, list, spanIn(items(list), range))),
  ),
  owning('drain', [T.array, T.int, T.int], (rt, [list, start, count]) =>
    array(cut(rt, list, spanIn(items(list), start, count))),
  ),
  owning('retain', [T.array, T.range], (rt, [list, range]) => keep(rt, list, spanIn(items(list), range))),
  owning('retain', [T.array, T.int, T.int], (rt, [list, start, count]) =>
    keep(rt, list, spanIn(items(list), start, count)),
  ),
  owning('splice', [T.array, T.range, T.array], (rt, [list, range, by]) =>
    splice(rt, list, spanIn(items(list), range), by),
  ),
  owning('splice', [T.array, T.int, T.int, T.array], (rt, [list, start, count, by]) =>
    splice(rt, list, spanIn(items(list), start, count), by),
  ),
];

function splice(rt: NativeRuntime, list: Value, span: Span, by: Value): undefined {
  const all = items(list);
  const added = items(by).map(share);
  newItems(rt, all.length + added.length, all.length + added.length);
  (list as ArrayValue).items = [...all.slice(0, span.start), ...added, ...all.slice(span.end)];
}

export const arrayNatives: readonly Native[] = [...readers, ...writers, ...partNatives];

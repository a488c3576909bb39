import { isFault, isSystemFault } from '../errors.ts';
import { newEntries, newItems } from '../meter.ts';
import { Type as T } from '../values/kinds.ts';
import { orderedKeys } from '../values/order.ts';
import { itemRef, type Ref, tempRef } from '../values/ref.ts';
import { offset } from '../values/span.ts';
import {
  type ArrayValue,
  array,
  type FnValue,
  type Int,
  Kind,
  type MapValue,
  map,
  share,
  type Value,
} from '../values/value.ts';
import { listOf } from './array.ts';
import {
  type CallbackRequest,
  calling,
  type Native,
  type NativeCalls,
  type NativeRuntime,
} from './native.ts';

// Built-ins that call back are generators: they yield the calls they want made. So they are written once, whether
// the callback waits for the host or not.

const F = T.fn | T.string;
const items = (value: Value): Value[] => (value as ArrayValue).items;

/** A function's name in place of a pointer is old style, but still accepted. */
function pointer(value: Value): FnValue {
  if (typeof value !== 'string') return value as FnValue;
  return { k: Kind.fn, name: value, closure: null, curried: [] };
}

const ask = (fn: FnValue, args: Value[], extras: readonly Value[] = [], self?: Ref): CallbackRequest => ({
  fn,
  args,
  extras,
  self,
});

const each = (fn: FnValue, item: Value, index: number): CallbackRequest => ask(fn, [share(item)], [index]);

function underConstruction(rt: NativeRuntime): Value[] {
  const list: Value[] = [];
  rt.scratch.push(list);
  return list;
}

function add(rt: NativeRuntime, list: Value[], value: Value): void {
  newItems(rt, 1, list.length + 1);
  list.push(value);
}

function* mapItems(rt: NativeRuntime, list: readonly Value[], fn: FnValue): NativeCalls {
  const result = underConstruction(rt);
  for (let i = 0; i < list.length; i++) add(rt, result, yield each(fn, list[i], i));
  return array(result);
}

/** The items for which the callback answers `wanted`, and the others. */
function* partition(
  rt: NativeRuntime,
  list: readonly Value[],
  fn: FnValue,
): Generator<CallbackRequest, { yes: Value[]; no: Value[] }, Value> {
  const yes = underConstruction(rt);
  const no = underConstruction(rt);
  for (let i = 0; i < list.length; i++)
    add(rt, (yield each(fn, list[i], i)) === true ? yes : no, share(list[i]));
  return { yes, no };
}

function* findIndex(
  list: readonly Value[],
  fn: FnValue,
  start: Value = 0,
): Generator<CallbackRequest, number, Value> {
  for (let i = offset(start as Int, list.length); i < list.length; i++)
    if ((yield each(fn, list[i], i)) === true) return i;
  return -1;
}

function* fold(list: readonly Value[], fn: FnValue, initial: Value, isReverse: boolean): NativeCalls {
  let result = initial;
  for (let n = 0; n < list.length; n++) {
    const i = isReverse ? list.length - 1 - n : n;
    result = yield ask(fn, [result, share(list[i])], [i]);
  }
  return result;
}

/** What a comparer answers; a failure in one counts as "equal", as in the engine. */
function* compare(fn: FnValue, a: Value, b: Value): Generator<CallbackRequest, number, Value> {
  let answer: Value;
  try {
    answer = yield ask(fn, [share(a), share(b)]);
  } catch (error) {
    if (!isFault(error) || isSystemFault(error)) throw error;
    return 0;
  }
  if (typeof answer === 'boolean') return answer ? -1 : 1;
  return typeof answer === 'number' || typeof answer === 'bigint' ? Math.sign(Number(answer)) : 0;
}

/** Merge sort, from small runs upwards: stable, and it needs only one comparison at a time. */
function* sortBy(
  rt: NativeRuntime,
  list: readonly Value[],
  fn: FnValue,
): Generator<CallbackRequest, Value[], Value> {
  newItems(rt, list.length * 2, list.length);
  let from = list.slice();
  let to = list.slice();
  for (let width = 1; width < from.length; width *= 2) {
    for (let start = 0; start < from.length; start += 2 * width) {
      const middle = Math.min(start + width, from.length);
      const end = Math.min(start + 2 * width, from.length);
      let left = start;
      let right = middle;
      for (let at = start; at < end; at++) {
        const takesLeft =
          right >= end || (left < middle && (yield* compare(fn, from[left], from[right])) <= 0);
        to[at] = takesLeft ? from[left++] : from[right++];
      }
    }
    [from, to] = [to, from];
  }
  return from;
}

function* dedupBy(rt: NativeRuntime, list: ArrayValue, fn: FnValue): NativeCalls {
  const kept = underConstruction(rt);
  for (const item of list.items) {
    if (kept.length > 0 && (yield* same(fn, item, kept[kept.length - 1]))) continue;
    add(rt, kept, item);
  }
  list.items = kept;
  return undefined;
}

function* same(fn: FnValue, a: Value, b: Value): Generator<CallbackRequest, boolean, Value> {
  try {
    return (yield ask(fn, [share(a), share(b)])) === true;
  } catch (error) {
    if (!isFault(error) || isSystemFault(error)) throw error;
    return false;
  }
}

const searching: readonly Native[] = [
  calling('map', [T.array, F], (rt, [list, fn]) => mapItems(rt, items(list), pointer(fn))),
  calling('filter', [T.array, F], function* (rt, [list, fn]) {
    return array((yield* partition(rt, items(list), pointer(fn))).yes);
  }),
  calling('find', [T.array, F], function* (_, [list, fn]) {
    return share(items(list)[yield* findIndex(items(list), pointer(fn))]);
  }),
  calling('find', [T.array, F, T.int], function* (_, [list, fn, start]) {
    return share(items(list)[yield* findIndex(items(list), pointer(fn), start)]);
  }),
  calling('find_map', [T.array, F], function* (_, [list, fn]) {
    for (let i = 0; i < items(list).length; i++) {
      const found = yield each(pointer(fn), items(list)[i], i);
      if (found !== undefined) return found;
    }
    return undefined;
  }),
  calling('index_of', [T.array, T.fn], function* (_, [list, fn]) {
    return yield* findIndex(items(list), pointer(fn));
  }),
  calling('index_of', [T.array, T.fn, T.int], function* (_, [list, fn, start]) {
    return yield* findIndex(items(list), pointer(fn), start);
  }),
  calling('some', [T.array, F], function* (_, [list, fn]) {
    return (yield* findIndex(items(list), pointer(fn))) >= 0;
  }),
  calling('all', [T.array, F], function* (_, [list, fn]) {
    for (let i = 0; i < items(list).length; i++)
      if ((yield each(pointer(fn), items(list)[i], i)) !== true) return false;
    return true;
  }),
];

const folding: readonly Native[] = [
  calling('reduce', [T.array, F], (_, [list, fn]) => fold(items(list), pointer(fn), undefined, false)),
  calling('reduce', [T.array, F, T.any], (_, [list, fn, start]) =>
    fold(items(list), pointer(fn), start, false),
  ),
  calling('reduce_rev', [T.array, F], (_, [list, fn]) => fold(items(list), pointer(fn), undefined, true)),
  calling('reduce_rev', [T.array, F, T.any], (_, [list, fn, start]) =>
    fold(items(list), pointer(fn), start, true),
  ),
  calling('zip', [T.array, T.array, F], function* (rt, [a, b, fn]) {
    const result = underConstruction(rt);
    const length = Math.min(items(a).length, items(b).length);
    for (let i = 0; i < length; i++)
      add(rt, result, yield ask(pointer(fn), [share(items(a)[i]), share(items(b)[i])], [i]));
    return array(result);
  }),
];

const changing: readonly Native[] = [
  calling(
    'for_each',
    [T.array, F],
    function* (_, [list, fn], self) {
      for (let i = 0; i < items(list).length; i++) yield ask(pointer(fn), [], [i], itemRef(self, i));
      return undefined;
    },
    'own',
  ),
  ...['sort', 'sort_by'].map((name) =>
    calling(
      name,
      [T.array, F],
      function* (rt, [list, fn]) {
        (list as ArrayValue).items = yield* sortBy(rt, items(list), pointer(fn));
        return undefined;
      },
      'own',
    ),
  ),
  calling('order_by', [T.array, F], function* (rt, [list, fn]) {
    return listOf(rt, yield* sortBy(rt, items(list), pointer(fn)));
  }),
  calling('dedup', [T.array, F], (rt, [list, fn]) => dedupBy(rt, list as ArrayValue, pointer(fn)), 'own'),
  calling(
    'drain',
    [T.array, F],
    function* (rt, [list, fn]) {
      const { yes, no } = yield* partition(rt, items(list), pointer(fn));
      (list as ArrayValue).items = no;
      return array(yes);
    },
    'own',
  ),
  calling(
    'retain',
    [T.array, F],
    function* (rt, [list, fn]) {
      const { yes, no } = yield* partition(rt, items(list), pointer(fn));
      (list as ArrayValue).items = yes;
      return array(no);
    },
    'own',
  ),
];

/** The entries of a map for which the callback says yes, and the others. */
function* partitionMap(
  rt: NativeRuntime,
  value: Value,
  fn: FnValue,
): Generator<CallbackRequest, { yes: Map<string, Value>; no: Map<string, Value> }, Value> {
  const { entries } = value as MapValue;
  const yes = new Map<string, Value>();
  const no = new Map<string, Value>();
  newEntries(rt, entries.size, entries.size);
  for (const key of orderedKeys(value as MapValue)) {
    const item = share(entries.get(key));
    ((yield ask(fn, [key], [item], tempRef(rt, item))) === true ? yes : no).set(key, item);
  }
  return { yes, no };
}

function replaceEntries(target: Value, entries: ReadonlyMap<string, Value>): void {
  const owner = target as MapValue;
  owner.entries.clear();
  owner.sorted = null;
  for (const [key, value] of entries) owner.entries.set(key, value);
}

const mapping: readonly Native[] = [
  calling('map', [T.map, F], function* (rt, [value, fn]) {
    const entries = new Map<string, Value>();
    newEntries(rt, (value as MapValue).entries.size, (value as MapValue).entries.size);
    for (const key of orderedKeys(value as MapValue)) {
      const item = share((value as MapValue).entries.get(key));
      entries.set(key, yield ask(pointer(fn), [key], [item], tempRef(rt, item)));
    }
    return map(entries);
  }),
  calling('filter', [T.map, F], function* (rt, [value, fn]) {
    return map((yield* partitionMap(rt, value, pointer(fn))).yes);
  }),
  calling(
    'drain',
    [T.map, F],
    function* (rt, [value, fn]) {
      const { yes, no } = yield* partitionMap(rt, value, pointer(fn));
      replaceEntries(value, no);
      return map(yes);
    },
    'own',
  ),
  calling(
    'retain',
    [T.map, F],
    function* (rt, [value, fn]) {
      const { yes, no } = yield* partitionMap(rt, value, pointer(fn));
      replaceEntries(value, yes);
      return map(no);
    },
    'own',
  ),
];

export const callbackNatives: readonly Native[] = [...searching, ...folding, ...changing, ...mapping];

import { newEntries, readText, spend } from '../meter.ts';
import { Type as T } from '../values/kinds.ts';
import { orderedKeys } from '../values/order.ts';
import { setEntry } from '../values/ref.ts';
import { type MapValue, share, type Value } from '../values/value.ts';
import { listOf } from './array.ts';
import { type Native, type NativeRuntime, owning, pure } from './native.ts';

const entries = (value: Value): Map<string, Value> => (value as MapValue).entries;

function keyOf(rt: NativeRuntime, key: Value): string {
  readText(rt, key as string);
  return key as string;
}

function merge(rt: NativeRuntime, target: Value, source: Value, replaces: boolean): undefined {
  newEntries(rt, entries(source).size, Math.max(entries(target).size, entries(source).size));
  for (const [key, value] of [...entries(source)])
    if (replaces || !entries(target).has(key)) setEntry(target, key, share(value));
  newEntries(rt, 0, entries(target).size);
}

export const mapNatives: readonly Native[] = [
  pure('len', [T.map], (_, [map]) => entries(map).size),
  pure('is_empty', [T.map], (_, [map]) => entries(map).size === 0),
  pure('contains', [T.map, T.string], (rt, [map, key]) => entries(map).has(keyOf(rt, key))),
  pure('get', [T.map, T.string], (rt, [map, key]) => share(entries(map).get(keyOf(rt, key)))),
  pure('keys', [T.map], (rt, [map]) => {
    spend(rt, entries(map).size * 4);
    return listOf(rt, orderedKeys(map as MapValue));
  }),
  pure('values', [T.map], (rt, [map]) => {
    spend(rt, entries(map).size * 4);
    return listOf(
      rt,
      orderedKeys(map as MapValue).map((key) => entries(map).get(key)),
    );
  }),
  owning('set', [T.map, T.string, T.any], (rt, [map, key, value]) => {
    if (!entries(map).has(keyOf(rt, key))) newEntries(rt, 1, entries(map).size + 1);
    setEntry(map, key as string, value);
    return undefined;
  }),
  owning('remove', [T.map, T.string], (rt, [map, key]) => {
    const value = entries(map).get(keyOf(rt, key));
    if (entries(map).delete(key as string)) (map as MapValue).sorted = null;
    return value;
  }),
  owning('clear', [T.map], (_, [map]) => {
    entries(map).clear();
    (map as MapValue).sorted = null;
    return undefined;
  }),
  owning('mixin', [T.map, T.map], (rt, [map, other]) => merge(rt, map, other, true)),
  owning('fill_with', [T.map, T.map], (rt, [map, other]) => merge(rt, map, other, false)),
];

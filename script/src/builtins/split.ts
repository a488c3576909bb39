import { charge, newItems } from '../meter.ts';
import { utf8 } from '../values/blob.ts';
import { charCount, charsOf, sliceChars } from '../values/chars.ts';
import { textOf } from '../values/compare.ts';
import { Type as T } from '../values/kinds.ts';
import { offset } from '../values/span.ts';
import { array, blob, char, type Int, type Value } from '../values/value.ts';
import { type Native, type NativeRuntime, pure } from './native.ts';

const SC = T.string | T.char;
const text = (value: Value): string => textOf(value) ?? '';

function pieces(rt: NativeRuntime, source: string, delimiter: string): string[] {
  charge(rt, source.length * 2);
  return delimiter === '' ? ['', ...charsOf(source), ''] : source.split(delimiter);
}

function list(rt: NativeRuntime, items: Value[]): Value {
  newItems(rt, items.length, items.length);
  return array(items);
}

function splitFirst(rt: NativeRuntime, s: Value, delimiter: Value, max: Value): Value {
  const all = pieces(rt, text(s), text(delimiter));
  const count = Math.max(1, Number(max));
  if (all.length <= count) return list(rt, all);
  return list(rt, [...all.slice(0, count - 1), all.slice(count - 1).join(text(delimiter))]);
}

function splitLast(rt: NativeRuntime, s: Value, delimiter: Value, max: Value): Value {
  const all = pieces(rt, text(s), text(delimiter)).reverse();
  const count = Math.max(1, Number(max));
  if (all.length <= count) return list(rt, all);
  const rest = all
    .slice(count - 1)
    .reverse()
    .join(text(delimiter));
  return list(rt, [...all.slice(0, count - 1), rest]);
}

/** What takes a string apart. */
export const splitNatives: readonly Native[] = [
  pure('split', [T.string], (rt, [s]) => {
    charge(rt, text(s).length * 2);
    return list(
      rt,
      text(s)
        .split(/\s+/u)
        .filter((word) => word !== ''),
    );
  }),
  pure('split', [T.string, T.int], (rt, [s, index]) => {
    charge(rt, text(s).length * 2);
    const length = charCount(text(s));
    const at = offset(index as Int, length);
    return array([sliceChars(text(s), 0, at), sliceChars(text(s), at, length)]);
  }),
  pure('split', [T.string, SC], (rt, [s, delimiter]) => list(rt, pieces(rt, text(s), text(delimiter)))),
  pure('split', [T.string, SC, T.int], (rt, [s, delimiter, max]) => splitFirst(rt, s, delimiter, max)),
  pure('split_rev', [T.string, SC], (rt, [s, delimiter]) =>
    list(rt, pieces(rt, text(s), text(delimiter)).reverse()),
  ),
  pure('split_rev', [T.string, SC, T.int], (rt, [s, delimiter, max]) => splitLast(rt, s, delimiter, max)),
  pure('to_chars', [T.string], (rt, [s]) => {
    charge(rt, text(s).length);
    return list(rt, charsOf(text(s)).map(char));
  }),
  pure('to_blob', [T.string], (rt, [s]) => {
    charge(rt, text(s).length * 8);
    const bytes = utf8(text(s));
    newItems(rt, 0, bytes.length);
    return blob(bytes);
  }),
];

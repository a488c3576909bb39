import { charge, newText, readText } from '../meter.ts';
import { concat } from '../values/arithmetic.ts';
import { charAt, charCount, charsOf, sliceChars, spliceChars } from '../values/chars.ts';
import { textOf } from '../values/compare.ts';
import { charSequence } from '../values/getters.ts';
import { Type as T } from '../values/kinds.ts';
import { offset, spanOf, spanOfRange } from '../values/span.ts';
import { type CharValue, char, type Int, type RangeValue, type Value } from '../values/value.ts';
import { textOfValue } from '../values/written.ts';
import { type Native, type NativeRuntime, pure, replacing } from './native.ts';

const SC = T.string | T.char;
const text = (value: Value): string => textOf(value) ?? '';
const everything = Number.MAX_SAFE_INTEGER;

/** The part that a start and a count, or a range, mean. */
function part(rt: NativeRuntime, value: Value, start: Value, count: Value = everything): string {
  const source = text(value);
  charge(rt, source.length >> 2);
  const length = charCount(source);
  const span =
    typeof start === 'object'
      ? spanOfRange(start as RangeValue, length)
      : spanOf(start as Int, count as Int, length);
  return newText(rt, sliceChars(source, span.start, span.end));
}

function indexOf(rt: NativeRuntime, value: Value, wanted: Value, start: Value = 0): number {
  const source = text(value);
  charge(rt, source.length);
  const length = charCount(source);
  if ((start as Int) >= length && length > 0) return -1;
  const from = sliceChars(source, 0, offset(start as Int, length)).length;
  const at = source.indexOf(text(wanted), from);
  return at < 0 ? -1 : charCount(source.slice(0, at));
}

function pad(rt: NativeRuntime, value: Value, length: Value, by: Value): string {
  const source = text(value);
  const missing = Number(length) - charCount(source);
  const filler = text(by);
  if (missing <= 0 || filler === '') return source;
  charge(rt, missing * 2);
  if (Number(length) > rt.limits.stringLength) return newText(rt, ' '.repeat(rt.limits.stringLength + 1));
  const filled = filler.repeat(Math.ceil(missing / charCount(filler)));
  return newText(rt, source + sliceChars(filled, 0, missing));
}

const replaced = (rt: NativeRuntime, value: Value, from: Value, to: Value): string => {
  const source = text(value);
  charge(rt, source.length);
  if (text(from) === '') return source;
  const count = source.split(text(from)).length - 1;
  const growth = count * (text(to).length - text(from).length);
  charge(rt, Math.max(0, growth) * 2);
  if (source.length + growth > rt.limits.stringLength)
    return newText(rt, ' '.repeat(rt.limits.stringLength + 1));
  return newText(
    rt,
    source.replaceAll(text(from), () => text(to)),
  );
};

const upper = (rt: NativeRuntime, [value]: Value[]) => newText(rt, text(value).toUpperCase());
const lower = (rt: NativeRuntime, [value]: Value[]) => newText(rt, text(value).toLowerCase());
const charUpper = ([value]: Value[]) => char(charsOf((value as CharValue).c.toUpperCase())[0] ?? '');
const charLower = ([value]: Value[]) => char(charsOf((value as CharValue).c.toLowerCase())[0] ?? '');

function popped(value: Value): { rest: string; last: string | undefined } {
  const source = text(value);
  const length = charCount(source);
  if (length === 0) return { rest: '', last: undefined };
  return { rest: sliceChars(source, 0, length - 1), last: charAt(source, length - 1) };
}

const charNatives: readonly Native[] = [
  pure('to_int', [T.char], (_, [c]) => (c as CharValue).c.codePointAt(0) ?? 0),
  pure('to_upper', [T.char], (_, args) => charUpper(args)),
  pure('to_lower', [T.char], (_, args) => charLower(args)),
  replacing('make_upper', [T.char], (_, args, self) => self.set(charUpper(args))),
  replacing('make_lower', [T.char], (_, args, self) => self.set(charLower(args))),
];

const readers: readonly Native[] = [
  pure('to_upper', [T.string], upper),
  pure('to_lower', [T.string], lower),
  pure('contains', [T.string, SC], (rt, [s, part_]) => {
    charge(rt, text(s).length);
    return text(s).includes(text(part_));
  }),
  pure('starts_with', [T.string, SC], (rt, [s, start]) => {
    readText(rt, text(s));
    return text(s).startsWith(text(start));
  }),
  pure('ends_with', [T.string, SC], (rt, [s, end]) => {
    readText(rt, text(s));
    return text(s).endsWith(text(end));
  }),
  pure('index_of', [T.string, SC], (rt, [s, wanted]) => indexOf(rt, s, wanted)),
  pure('index_of', [T.string, SC, T.int], (rt, [s, wanted, start]) => indexOf(rt, s, wanted, start)),
  pure('sub_string', [T.string, T.int | T.range], (rt, [s, start]) => part(rt, s, start)),
  pure('sub_string', [T.string, T.int, T.int], (rt, [s, start, count]) => part(rt, s, start, count)),
  pure('get', [T.string, T.int], (rt, [s, index]) => {
    charge(rt, text(s).length >> 2);
    const length = charCount(text(s));
    const at = (index as Int) < 0 ? length + Number(index) : Number(index);
    return at >= 0 && at < length ? char(charAt(text(s), at)) : undefined;
  }),
  pure('chars', [T.string, T.int | T.range], (rt, [s, start]) => charSequence(rt, part(rt, s, start))),
  pure('chars', [T.string, T.int, T.int], (rt, [s, start, n]) => charSequence(rt, part(rt, s, start, n))),
];

const writers: readonly Native[] = [
  replacing('trim', [T.string], (rt, [s], self) => self.set(newText(rt, text(s).trim()))),
  replacing('make_upper', [T.string], (rt, args, self) => self.set(upper(rt, args))),
  replacing('make_lower', [T.string], (rt, args, self) => self.set(lower(rt, args))),
  replacing('append', [T.string, T.any], (rt, [s, more], self) =>
    self.set(concat(rt, text(s), textOfValue(rt, more))),
  ),
  replacing('replace', [T.string, SC, SC], (rt, [s, from, to], self) => self.set(replaced(rt, s, from, to))),
  replacing('remove', [T.string, SC], (rt, [s, gone], self) => self.set(replaced(rt, s, gone, ''))),
  replacing('crop', [T.string, T.int | T.range], (rt, [s, start], self) => self.set(part(rt, s, start))),
  replacing('crop', [T.string, T.int, T.int], (rt, [s, start, n], self) => self.set(part(rt, s, start, n))),
  replacing('truncate', [T.string, T.int], (rt, [s, n], self) =>
    self.set(part(rt, s, 0, (n as Int) < 0 ? 0 : n)),
  ),
  replacing('pad', [T.string, T.int, SC], (rt, [s, length, by], self) => self.set(pad(rt, s, length, by))),
  replacing('clear', [T.string], (_, __, self) => self.set('')),
  replacing('set', [T.string, T.int, T.char], (rt, [s, index, c], self) => {
    charge(rt, text(s).length);
    const length = charCount(text(s));
    const at = (index as Int) < 0 ? length + Number(index) : Number(index);
    if (at >= 0 && at < length) self.set(spliceChars(text(s), at, at + 1, text(c)));
    return undefined;
  }),
  replacing('pop', [T.string], (rt, [s], self) => {
    charge(rt, text(s).length >> 2);
    const { rest, last } = popped(s);
    self.set(rest);
    return last === undefined ? undefined : char(last);
  }),
  replacing('pop', [T.string, T.int], (rt, [s, count], self) => {
    charge(rt, text(s).length >> 2);
    const length = charCount(text(s));
    const at = length - Math.min(length, Math.max(0, Number(count)));
    self.set(sliceChars(text(s), 0, at));
    return sliceChars(text(s), at, length);
  }),
];

export const stringNatives: readonly Native[] = [...charNatives, ...readers, ...writers];

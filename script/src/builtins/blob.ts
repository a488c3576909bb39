import { charge, checkArray, newText } from '../meter.ts';
import { appendToBlob, byteOf, utf8 } from '../values/blob.ts';
import { normalInt } from '../values/int.ts';
import { Type as T } from '../values/kinds.ts';
import { offset, type Span, spanOf, spanOfRange } from '../values/span.ts';
import {
  array,
  type BlobValue,
  blob,
  type FloatValue,
  float,
  type Int,
  type RangeValue,
  type Value,
} from '../values/value.ts';
import { type Native, type NativeRuntime, owning, pure } from './native.ts';

const bytes = (value: Value): number[] => (value as BlobValue).bytes;
const everything = Number.MAX_SAFE_INTEGER;

function spanIn(value: Value, start: Value, count: Value = everything): Span {
  const { length } = bytes(value);
  return typeof start === 'object'
    ? spanOfRange(start as RangeValue, length)
    : spanOf(start as Int, count as Int, length);
}

function room(rt: NativeRuntime, count: number, length: number): void {
  checkArray(rt, length);
  charge(rt, count * 8);
}

function create(rt: NativeRuntime, length: Value, byte: Value = 0): Value {
  const count = Math.max(0, Number(length));
  room(rt, count, count);
  return blob(new Array<number>(count).fill(byteOf(byte as Int)));
}

function add(rt: NativeRuntime, [value, more]: Value[]): undefined {
  const added = appendToBlob(more) ?? [];
  room(rt, added.length, bytes(value).length + added.length);
  bytes(value).push(...added);
}

function cut(rt: NativeRuntime, value: Value, span: Span, by: readonly number[] = []): number[] {
  room(rt, bytes(value).length + by.length, bytes(value).length + by.length);
  return bytes(value).splice(span.start, span.end - span.start, ...by);
}

function keep(rt: NativeRuntime, value: Value, span: Span): Value {
  const kept = bytes(value).slice(span.start, span.end);
  const gone = [...bytes(value).slice(0, span.start), ...bytes(value).slice(span.end)];
  room(rt, gone.length, bytes(value).length);
  (value as BlobValue).bytes = kept;
  return blob(gone);
}

/** At most eight bytes, the missing ones zero: behind them if little end first, before them if not. */
function readInt(value: Value, start: Value, count: Value, isLittle: boolean): bigint {
  const span = spanIn(value, start, count);
  const part = bytes(value).slice(span.start, Math.min(span.end, span.start + 8));
  const ordered = isLittle ? part.reverse() : part;
  let result = 0n;
  for (const byte of ordered) result = (result << 8n) | BigInt(byte);
  return BigInt.asIntN(64, result);
}

const floatBits = (bits: bigint): number => {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigInt64(0, bits);
  return view.getFloat64(0);
};

function encode(value: Value, isLittle: boolean): number[] {
  const view = new DataView(new ArrayBuffer(8));
  if (typeof value === 'object') view.setFloat64(0, (value as FloatValue).v, isLittle);
  else view.setBigInt64(0, BigInt(value as Int), isLittle);
  return [...new Uint8Array(view.buffer)];
}

function write(target: Value, span: Span, source: readonly number[]): undefined {
  const count = Math.min(span.end - span.start, source.length);
  for (let i = 0; i < count; i++) bytes(target)[span.start + i] = source[i] as number;
}

/** The same function for a range, and for a start and a count. */
const withSpan = (
  name: string,
  before: readonly number[],
  more: readonly number[],
  isWriter: boolean,
  run: (rt: NativeRuntime, value: Value, span: Span, rest: Value[]) => Value,
): readonly Native[] => {
  const make = isWriter ? owning : pure;
  return [
    make(name, [...before, T.range, ...more], (rt, [value, range, ...rest]) =>
      run(rt, value, spanIn(value, range), rest),
    ),
    make(name, [...before, T.int, T.int, ...more], (rt, [value, start, count, ...rest]) =>
      run(rt, value, spanIn(value, start, count), rest),
    ),
  ];
};

const spanned: readonly Native[] = [
  ...withSpan('extract', [T.blob], [], false, (rt, value, { start, end }) => {
    room(rt, end - start, end - start);
    return blob(bytes(value).slice(start, end));
  }),
  ...withSpan('drain', [T.blob], [], true, (rt, value, span) => blob(cut(rt, value, span))),
  ...withSpan('retain', [T.blob], [], true, keep),
  ...withSpan('splice', [T.blob], [T.blob], true, (rt, value, span, [by]) => {
    cut(rt, value, span, bytes(by));
    return undefined;
  }),
  ...withSpan('parse_le_int', [T.blob], [], false, (_, value, { start, end }) =>
    normalInt(readInt(value, start, end - start, true)),
  ),
  ...withSpan('parse_be_int', [T.blob], [], false, (_, value, { start, end }) =>
    normalInt(readInt(value, start, end - start, false)),
  ),
  ...withSpan('parse_le_float', [T.blob], [], false, (_, value, { start, end }) =>
    float(floatBits(readInt(value, start, end - start, true))),
  ),
  ...withSpan('parse_be_float', [T.blob], [], false, (_, value, { start, end }) =>
    float(floatBits(readInt(value, start, end - start, false))),
  ),
  ...withSpan('write_le', [T.blob], [T.int | T.float], true, (_, value, span, [n]) =>
    write(value, span, encode(n, true)),
  ),
  ...withSpan('write_be', [T.blob], [T.int | T.float], true, (_, value, span, [n]) =>
    write(value, span, encode(n, false)),
  ),
  ...withSpan('write_utf8', [T.blob], [T.string], true, (_, value, span, [text]) =>
    write(value, span, utf8(text as string)),
  ),
  ...withSpan('write_ascii', [T.blob], [T.string], true, (_, value, span, [text]) =>
    write(
      value,
      span,
      utf8(text as string).filter((byte) => byte < 128),
    ),
  ),
];

const indexIn = (value: Value, index: Value): number =>
  (index as Int) < 0 ? bytes(value).length + Number(index) : Number(index);

const single: readonly Native[] = [
  pure('blob', [], (rt) => create(rt, 0)),
  pure('blob', [T.int], (rt, [length]) => create(rt, length)),
  pure('blob', [T.int, T.int], (rt, [length, byte]) => create(rt, length, byte)),
  pure('get', [T.blob, T.int], (_, [value, index]) => bytes(value)[Math.max(0, indexIn(value, index))] ?? 0),
  owning('set', [T.blob, T.int, T.int], (_, [value, index, byte]) => {
    const at = indexIn(value, index);
    if (at >= 0 && at < bytes(value).length) bytes(value)[at] = byteOf(byte as Int);
    return undefined;
  }),
  owning('push', [T.blob, T.int], add),
  owning('append', [T.blob, T.blob | T.string | T.char | T.int], add),
  owning('insert', [T.blob, T.int, T.int], (rt, [value, index, byte]) => {
    const at = offset(index as Int, bytes(value).length);
    cut(rt, value, { start: at, end: at }, [byteOf(byte as Int)]);
    return undefined;
  }),
  owning('pop', [T.blob], (_, [value]) => bytes(value).pop() ?? 0),
  owning('shift', [T.blob], (_, [value]) => bytes(value).shift() ?? 0),
  owning('remove', [T.blob, T.int], (rt, [value, index]) => {
    const at = indexIn(value, index);
    return at < 0 || at >= bytes(value).length ? 0 : (cut(rt, value, { start: at, end: at + 1 })[0] ?? 0);
  }),
  owning('clear', [T.blob], (_, [value]) => {
    bytes(value).length = 0;
    return undefined;
  }),
  owning('truncate', [T.blob, T.int], (_, [value, count]) => {
    bytes(value).length = Math.min(bytes(value).length, Math.max(0, Number(count)));
    return undefined;
  }),
  owning('chop', [T.blob, T.int], (rt, [value, count]) => {
    const { length } = bytes(value);
    cut(rt, value, { start: 0, end: length - Math.min(length, Math.max(0, Number(count))) });
    return undefined;
  }),
  owning('reverse', [T.blob], (rt, [value]) => {
    room(rt, bytes(value).length, 0);
    bytes(value).reverse();
    return undefined;
  }),
  owning('split', [T.blob, T.int], (rt, [value, index]) => blob(cut(rt, value, spanIn(value, index)))),
  owning('pad', [T.blob, T.int, T.int], (rt, [value, length, byte]) => {
    const missing = Number(length) - bytes(value).length;
    if (missing > 0) room(rt, missing, Number(length));
    for (let i = 0; i < missing; i++) bytes(value).push(byteOf(byte as Int));
    return undefined;
  }),
  pure('contains', [T.blob, T.int], (_, [value, byte]) => bytes(value).includes(Number(byte))),
  pure('to_array', [T.blob], (rt, [value]) => {
    room(rt, bytes(value).length * 2, bytes(value).length);
    return array(bytes(value).slice());
  }),
  pure('as_string', [T.blob], (rt, [value]) => {
    room(rt, bytes(value).length, 0);
    return newText(rt, new TextDecoder().decode(Uint8Array.from(bytes(value))));
  }),
];

export const blobNatives: readonly Native[] = [...single, ...spanned];

import { createFault } from '../errors.ts';
import { bitBounds } from '../faults.ts';
import { nowhere } from '../position.ts';
import { replaceBits } from '../values/access.ts';
import { floatOf, textOf } from '../values/compare.ts';
import { bitSequence } from '../values/getters.ts';
import { maxInt, minInt, negateInt, normalInt } from '../values/int.ts';
import { Type as T } from '../values/kinds.ts';
import { compareText } from '../values/order.ts';
import { spanOf, spanOfRange } from '../values/span.ts';
import { floatText } from '../values/text.ts';
import {
  type CharValue,
  type FloatValue,
  float,
  type Int,
  type RangeValue,
  type Value,
} from '../values/value.ts';
import { type Native, pure, replacing } from './native.ts';

const arithmetic = (message: string) => createFault('ErrorArithmetic', message);
const number = (value: Value): number => floatOf(value) ?? 0;

function toInt(value: number): Int {
  const whole = Math.trunc(value);
  const isInside = whole >= -(2 ** 63) && whole < 2 ** 63;
  if (!isInside) throw arithmetic(`Integer overflow: to_int(${plainDigits(value)})`);
  return normalInt(BigInt(whole));
}

/** A large float in full: its shortest digits, then zeros. */
function plainDigits(value: number): string {
  if (!Number.isFinite(value)) return floatText(value);
  const [digits = '', exponent = '0'] = value.toExponential().split('e+');
  const [whole = '', fraction = ''] = digits.split('.');
  return whole + fraction + '0'.repeat(Math.max(0, Number(exponent) - fraction.length));
}

const radixText =
  (radix: number) =>
  (_: unknown, [value]: Value[]) =>
    BigInt.asUintN(64, BigInt(value as Int)).toString(radix);

/** Trims, takes a sign, no prefix and no underscores. */
function parseInteger(text: string, radix: number): Int {
  const bad = (reason: string) => arithmetic(`Error parsing integer number '${text}': ${reason}`);
  if (radix < 2 || radix > 36) throw arithmetic(`Invalid radix: '${radix}'`);
  const trimmed = text.trim();
  if (trimmed === '') throw bad('cannot parse integer from empty string');
  const digits = trimmed.replace(/^[+-]/, '');
  if (!/^[0-9a-z]+$/i.test(digits)) throw bad('invalid digit found in string');
  if (digits.length > 64) throw bad('number too large to fit in target type');
  let value = 0n;
  for (const digit of digits) {
    const amount = Number.parseInt(digit, 36);
    if (amount >= radix) throw bad('invalid digit found in string');
    value = value * BigInt(radix) + BigInt(amount);
  }
  const signed = trimmed.startsWith('-') ? -value : value;
  if (signed > maxInt) throw bad('number too large to fit in target type');
  if (signed < minInt) throw bad('number too small to fit in target type');
  return normalInt(signed);
}

function parseFloatText(text: string): Value {
  const trimmed = text.trim();
  if (!/^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)$/i.test(trimmed))
    throw arithmetic(`Error parsing floating-point number '${text}': invalid float literal`);
  const lower = trimmed.toLowerCase();
  if (lower.endsWith('nan')) return float(Number.NaN);
  if (lower.includes('inf')) return float(lower.startsWith('-') ? -Infinity : Infinity);
  return float(Number(trimmed));
}

const pick = (isMax: boolean): readonly Native[] => {
  const name = isMax ? 'max' : 'min';
  const choose = (a: Value, b: Value, isLess: boolean) => (isLess === isMax ? b : a);
  return [
    pure(name, [T.int, T.int], (_, [a, b]) => choose(a, b, (a as Int) < (b as Int))),
    pure(name, [T.int | T.float, T.int | T.float], (_, [a, b]) =>
      float(number(choose(a, b, number(a) < number(b)))),
    ),
    pure(name, [T.char, T.char], (_, [a, b]) =>
      choose(a, b, compareText((a as CharValue).c, (b as CharValue).c) < 0),
    ),
    pure(name, [T.string | T.char, T.string | T.char], (_, [a, b]) =>
      choose(a, b, compareText(textOf(a) ?? '', textOf(b) ?? '') < 0),
    ),
  ];
};

const floatFunction = (name: string, compute: (v: number) => number): Native =>
  pure(name, [T.float], (_, [value]) => float(compute((value as FloatValue).v)));

interface BitSpan {
  readonly start: number;
  readonly mask: bigint;
}

function bitSpan(start: Value, length: Value): BitSpan {
  if (typeof start === 'object') {
    const span = spanOfRange(start as RangeValue, 64);
    return { start: span.start, mask: (1n << BigInt(span.end - span.start)) - 1n };
  }
  const at = bitIndex(start as Int);
  const span = spanOf(at, length as Int, 64);
  return { start: at, mask: (1n << BigInt(span.end - span.start)) - 1n };
}

function bitIndex(index: Int): number {
  const at = index < 0 ? 64 + Number(index) : Number(index);
  if (at < 0 || at >= 64) throw bitBounds(index, nowhere);
  return at;
}

const getBits = (value: Value, { start, mask }: BitSpan): Value =>
  normalInt(BigInt.asIntN(64, (BigInt.asUintN(64, BigInt(value as Int)) >> BigInt(start)) & mask));

const setBits = (value: Value, { start, mask }: BitSpan, bits: Value): Value =>
  replaceBits(value as Int, BigInt(start), mask, BigInt(bits as Int));

const bitNatives: readonly Native[] = [
  pure('get_bit', [T.int, T.int], (_, [n, i]) => getBits(n, { start: bitIndex(i as Int), mask: 1n }) !== 0),
  replacing('set_bit', [T.int, T.int, T.bool], (_, [n, i, on], self) =>
    self.set(setBits(n, { start: bitIndex(i as Int), mask: 1n }, on === true ? 1 : 0)),
  ),
  pure('get_bits', [T.int, T.int, T.int], (_, [n, start, length]) => getBits(n, bitSpan(start, length))),
  pure('get_bits', [T.int, T.range], (_, [n, range]) => getBits(n, bitSpan(range, 0))),
  replacing('set_bits', [T.int, T.int, T.int, T.int], (_, [n, start, length, bits], self) =>
    self.set(setBits(n, bitSpan(start, length), bits)),
  ),
  replacing('set_bits', [T.int, T.range, T.int], (_, [n, range, bits], self) =>
    self.set(setBits(n, bitSpan(range, 0), bits)),
  ),
  pure('bits', [T.int, T.int], (_, [n, start]) => {
    const at = bitIndex(start as Int);
    return bitSequence(n as Int, at, 64 - at);
  }),
  pure('bits', [T.int, T.int, T.int], (_, [n, start, length]) => {
    const span = spanOf(start as Int, length as Int, 64);
    return bitSequence(n as Int, span.start, span.end - span.start);
  }),
  pure('bits', [T.int, T.range], (_, [n, range]) => {
    const span = spanOfRange(range as RangeValue, 64);
    return bitSequence(n as Int, span.start, span.end - span.start);
  }),
];

const floatNatives: readonly Native[] = [
  floatFunction('abs', Math.abs),
  pure('sign', [T.float], (_, [v]) => Math.sign((v as FloatValue).v) + 0 || 0),
  pure('to_int', [T.float], (_, [v]) => toInt((v as FloatValue).v)),
  pure('to_float', [T.float], (_, [v]) => v),
  floatFunction('sqrt', Math.sqrt),
  floatFunction('exp', Math.exp),
  floatFunction('ln', Math.log),
  floatFunction('log', Math.log10),
  pure('log', [T.float, T.float], (_, [v, base]) => float(Math.log(number(v)) / Math.log(number(base)))),
  floatFunction('sin', Math.sin),
  floatFunction('cos', Math.cos),
  floatFunction('tan', Math.tan),
  floatFunction('asin', Math.asin),
  floatFunction('acos', Math.acos),
  floatFunction('atan', Math.atan),
  pure('atan', [T.float, T.float], (_, [y, x]) => float(Math.atan2(number(y), number(x)))),
  floatFunction('sinh', Math.sinh),
  floatFunction('cosh', Math.cosh),
  floatFunction('tanh', Math.tanh),
  floatFunction('asinh', Math.asinh),
  floatFunction('acosh', Math.acosh),
  floatFunction('atanh', Math.atanh),
  pure('hypot', [T.float, T.float], (_, [a, b]) => float(Math.hypot(number(a), number(b)))),
  floatFunction('to_degrees', (v) => (v * 180) / Math.PI),
  floatFunction('to_radians', (v) => (v * Math.PI) / 180),
  pure('PI', [], () => float(Math.PI)),
  pure('E', [], () => float(Math.E)),
];

export const numberNatives: readonly Native[] = [
  pure('abs', [T.int], (_, [n]) => ((n as Int) < 0 ? negateInt(n as Int) : n)),
  pure('sign', [T.int], (_, [n]) => ((n as Int) > 0 ? 1 : (n as Int) < 0 ? -1 : 0)),
  pure('to_int', [T.int], (_, [n]) => n),
  pure('to_float', [T.int], (_, [n]) => float(number(n))),
  pure('to_hex', [T.int], radixText(16)),
  pure('to_octal', [T.int], radixText(8)),
  pure('to_binary', [T.int], radixText(2)),
  pure('parse_int', [T.string], (_, [text]) => parseInteger(text as string, 10)),
  pure('parse_int', [T.string, T.int], (_, [text, radix]) => parseInteger(text as string, Number(radix))),
  pure('parse_float', [T.string], (_, [text]) => parseFloatText(text as string)),
  ...pick(false),
  ...pick(true),
  ...bitNatives,
  ...floatNatives,
];

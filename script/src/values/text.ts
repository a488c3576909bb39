import { defaultLimits } from '../limits.ts';
import { escapeText } from './escape.ts';
import { orderedKeys } from './order.ts';
import { Kind, type RangeValue, type Value } from './value.ts';

/**
 * A text that is being written. A value that holds another in many places may be endless when written out, so the
 * writer stops where it passes `max`.
 */
export interface Ink {
  text: string;
  readonly max: number;
}

/** What stops a writer. */
export const stop = { long: Symbol('too long'), deep: Symbol('too deep') } as const;

/** Deeper than any script means it, and far from the end of the stack. */
export const maxNesting = 500;

export function put(ink: Ink, text: string): void {
  ink.text += text;
  if (ink.text.length > ink.max) throw stop.long;
}

export type Write = (ink: Ink, value: Value) => void;

/** What fits into `max`, and why it is not all of it. */
export function written(
  write: Write,
  value: Value,
  max: number,
): { text: string; cut: 'long' | 'deep' | null } {
  const ink: Ink = { text: '', max };
  try {
    write(ink, value);
    return { text: ink.text, cut: null };
  } catch (error) {
    if (error !== stop.long && error !== stop.deep) throw error;
    return { text: ink.text, cut: error === stop.long ? 'long' : 'deep' };
  }
}

/** All of it, or the beginning. */
export function shortened(write: Write, value: Value, max = defaultLimits.stringLength): string {
  const { text, cut } = written(write, value, max);
  return cut === null ? text : `${text}…`;
}

export const toText = (value: Value): string =>
  isContainer(value) ? shortened(writeDebug, value) : plainText(value);
export const toDebug = (value: Value): string => shortened(writeDebug, value);

export type Container = Extract<Value, { k: typeof Kind.array | typeof Kind.map | typeof Kind.fn }>;
export const isContainer = (value: Value): value is Container =>
  typeof value === 'object' && (value.k === Kind.array || value.k === Kind.map || value.k === Kind.fn);

/** As `print`, interpolation and `+` with a string write what holds no other values; only here unit is empty. */
export function plainText(value: Exclude<Value, Container>): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (typeof value !== 'object') return String(value);
  return value.k === Kind.float ? floatText(value.v) : boxedText(value);
}

/** As inside arrays and maps: strings quoted, unit written out. */
function plainDebug(value: Exclude<Value, Container>): string {
  if (typeof value === 'string') return quoted(value);
  if (value === undefined) return '()';
  return typeof value === 'object' ? boxedText(value) : String(value);
}

function boxedText(value: Exclude<Extract<Value, object>, Container>): string {
  switch (value.k) {
    case Kind.float:
      return Object.is(value.v, -0) ? '-0.0' : floatText(value.v);
    case Kind.char:
      return value.c;
    case Kind.blob:
      return `[${value.bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}]`;
    case Kind.range:
      return rangeText(value);
    case Kind.sequence:
      return 'range';
    case Kind.timestamp:
      return '<timestamp>';
  }
}

export function writeDebug(ink: Ink, value: Value, depth = 0): void {
  if (depth > maxNesting) throw stop.deep;
  if (!isContainer(value)) {
    put(ink, plainDebug(value));
  } else if (value.k === Kind.array) {
    writeList(ink, '[', value.items, depth);
    put(ink, ']');
  } else if (value.k === Kind.fn) {
    put(ink, `Fn(${value.name}`);
    if (value.curried.length > 0) writeList(ink, ', ', value.curried, depth);
    put(ink, ')');
  } else {
    let before = '#{';
    for (const key of orderedKeys(value)) {
      put(ink, `${before}${quoted(key)}: `);
      writeDebug(ink, value.entries.get(key), depth + 1);
      before = ', ';
    }
    put(ink, value.entries.size === 0 ? '#{}' : '}');
  }
}

function writeList(ink: Ink, start: string, items: readonly Value[], depth: number): void {
  put(ink, start);
  for (let i = 0; i < items.length; i++) {
    if (i > 0) put(ink, ', ');
    writeDebug(ink, items[i], depth + 1);
  }
}

const rangeText = ({ start, end, inclusive, open }: RangeValue): string =>
  `${start}${inclusive ? '..=' : '..'}${open ? '' : end}`;

/** Whole floats keep `.0`; only the very large and very small use an exponent. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return '0.0';
  const size = Math.abs(value);
  if (size >= 1e13 || size < 1e-13) return value.toExponential().replace('e+', 'e');
  const text = String(value);
  if (!text.includes('e')) return text.includes('.') ? text : `${text}.0`;
  return withoutExponent(text);
}

function withoutExponent(text: string): string {
  const [mantissa = '', exponent = '0'] = text.replace('-', '').split('e');
  const sign = text.startsWith('-') ? '-' : '';
  const digits = mantissa.replace('.', '');
  // Only small numbers come here: String() uses no exponent below 1e21.
  const zeros = '0'.repeat(Math.abs(Number(text.slice(text.indexOf('e') + 1))) - 1);
  return exponent === '0' ? text : `${sign}0.${zeros}${digits}`;
}

const quoted = (text: string): string => `"${escapeText(text, escaped)}"`;

const escaped = (char: string): string => (char === '\0' ? '\\0' : `\\u{${char.charCodeAt(0).toString(16)}}`);

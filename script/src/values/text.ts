import { orderedKeys } from './order.ts';
import { type FnValue, Kind, type RangeValue, type Value } from './value.ts';

/** As `print`, interpolation and `+` with a string write it; only here unit is empty. */
export function toText(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (typeof value !== 'object') return String(value);
  return value.k === Kind.float ? floatText(value.v) : boxedText(value);
}

/** As inside arrays and maps: strings quoted, unit written out. */
export function toDebug(value: Value): string {
  if (typeof value === 'string') return quoted(value);
  if (value === undefined) return '()';
  return typeof value === 'object' ? boxedText(value) : String(value);
}

function boxedText(value: Extract<Value, object>): string {
  switch (value.k) {
    case Kind.float:
      return Object.is(value.v, -0) ? '-0.0' : floatText(value.v);
    case Kind.char:
      return value.c;
    case Kind.array:
      return `[${value.items.map(toDebug).join(', ')}]`;
    case Kind.map:
      return `#{${orderedKeys(value)
        .map((key) => `${quoted(key)}: ${toDebug(value.entries.get(key))}`)
        .join(', ')}}`;
    case Kind.blob:
      return `[${value.bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}]`;
    case Kind.fn:
      return fnText(value);
    case Kind.range:
      return rangeText(value);
    case Kind.sequence:
      return 'range';
    case Kind.timestamp:
      return '<timestamp>';
  }
}

const fnText = ({ name, curried }: FnValue): string =>
  curried.length === 0 ? `Fn(${name})` : `Fn(${[name, ...curried.map(toDebug)].join(', ')})`;

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

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\0': '\\0',
};

const quoted = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped here
  `"${text.replace(/["\\\u0000-\u001f\u007f-\u009f]/g, escaped)}"`;

const escaped = (char: string): string => escapes[char] ?? `\\u{${char.charCodeAt(0).toString(16)}}`;

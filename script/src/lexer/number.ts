import { syntaxFault } from '../errors.ts';
import type { Position } from '../position.ts';
import { ahead, type Cursor, continuesName, isDigit, isLetter, skip } from './cursor.ts';
import type { Token } from './token.ts';

const radixDigits: Readonly<Record<string, RegExp>> = { x: /[0-9a-fA-F_]/, o: /[0-7_]/, b: /[01_]/ };
const maxInt = 2n ** 63n - 1n;

/** An integer as the values are: a number while it is exact, a bigint beyond. */
const normalInt = (value: bigint): number | bigint => {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
};

export function readNumber(cursor: Cursor, position: Position, negative: boolean): Token {
  const radix = ahead(cursor) === '0' ? ahead(cursor, 1).toLowerCase() : '';
  const digits = radixDigits[radix];
  if (digits !== undefined) return readRadix(cursor, position, negative, radix, digits);
  const start = cursor.offset;
  takeDigits(cursor);
  const isFloat = takeFraction(cursor);
  const hasExponent = takeExponent(cursor);
  const text = (negative ? '-' : '') + cursor.source.slice(start, cursor.offset).replaceAll('_', '');
  if (isFloat || hasExponent) return numberToken('float', text, Number(text), position);
  const value = BigInt(text);
  if (value > maxInt || value < -maxInt - 1n) return numberToken('float', text, Number(text), position);
  return numberToken('int', text, normalInt(value), position);
}

function readRadix(
  cursor: Cursor,
  position: Position,
  negative: boolean,
  radix: string,
  digits: RegExp,
): Token {
  skip(cursor, 2);
  const start = cursor.offset;
  while (ahead(cursor) !== '' && digits.test(ahead(cursor))) skip(cursor, 1);
  const text = cursor.source.slice(start, cursor.offset).replaceAll('_', '');
  if (text === '') throw syntaxFault("Invalid number: ''", position);
  const unsigned = BigInt(`0${radix}${text}`);
  if (unsigned >= 2n ** 64n) throw syntaxFault(`Invalid number: '${text}'`, position);
  const value = BigInt.asIntN(64, unsigned);
  return numberToken('int', text, normalInt(negative ? BigInt.asIntN(64, -value) : value), position);
}

function takeDigits(cursor: Cursor): void {
  while (isDigit(ahead(cursor)) || ahead(cursor) === '_') skip(cursor, 1);
}

/** A dot belongs to the number unless a name, another dot or the end of the script follows. */
function takeFraction(cursor: Cursor): boolean {
  if (ahead(cursor) !== '.') return false;
  const next = ahead(cursor, 1);
  if (isDigit(next)) {
    skip(cursor, 1);
    takeDigits(cursor);
    return true;
  }
  if (next === '' || next === '.' || continuesName(next)) return false;
  skip(cursor, 1);
  return true;
}

function takeExponent(cursor: Cursor): boolean {
  const mark = ahead(cursor);
  if (mark !== 'e' && mark !== 'E') return false;
  const sign = ahead(cursor, 1) === '+' || ahead(cursor, 1) === '-' ? 1 : 0;
  if (!isDigit(ahead(cursor, 1 + sign)) || isLetter(ahead(cursor, 1))) return false;
  skip(cursor, 1 + sign);
  takeDigits(cursor);
  return true;
}

const numberToken = (
  kind: 'int' | 'float',
  text: string,
  value: number | bigint,
  position: Position,
): Token => ({ kind, text, value, position, open: false });

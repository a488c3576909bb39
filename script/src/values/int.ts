import { createFault } from '../errors.ts';
import type { Int } from './value.ts';

export const maxInt = 2n ** 63n - 1n;
export const minInt = -(2n ** 63n);

/** The one form of an integer: a number if it is exact. */
export function normalInt(value: bigint): Int {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
}

const overflow = (what: string, a: Int, op: string, b: Int) =>
  createFault('ErrorArithmetic', `${what}: ${a} ${op} ${b}`);

function checked(value: bigint, what: string, a: Int, op: string, b: Int): Int {
  if (value > maxInt || value < minInt) throw overflow(what, a, op, b);
  return normalInt(value);
}

export function addInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return checked(BigInt(a) + BigInt(b), 'Addition overflow', a, '+', b);
}

export function subtractInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return checked(BigInt(a) - BigInt(b), 'Subtraction overflow', a, '-', b);
}

/** `+ 0` because an integer has no negative zero. */
export function multiplyInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b + 0;
    if (Number.isSafeInteger(product)) return product;
  }
  return checked(BigInt(a) * BigInt(b), 'Multiplication overflow', a, '*', b);
}

export function divideInts(a: Int, b: Int): Int {
  if (b === 0) throw overflow('Division by zero', a, '/', b);
  if (typeof a === 'number' && typeof b === 'number') return Math.trunc(a / b) + 0;
  return checked(BigInt(a) / BigInt(b), 'Division overflow', a, '/', b);
}

export function remainderOfInts(a: Int, b: Int): Int {
  if (b === 0 || (b === -1 && a === minInt)) throw overflow('Modulo division by zero or overflow', a, '%', b);
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0;
  return normalInt(BigInt(a) % BigInt(b));
}

export function powerOfInts(a: Int, b: Int): Int {
  if (b < 0) throw overflow('Integer raised to a negative power', a, '**', b);
  const isSmallBase = a === 0 || a === 1 || a === -1;
  if (!isSmallBase && b >= 64) throw overflow('Exponential overflow', a, '**', b);
  const exponent = isSmallBase ? BigInt(b) % 2n || (BigInt(b) === 0n ? 0n : 2n) : BigInt(b);
  return checked(BigInt(a) ** exponent, 'Exponential overflow', a, '**', b);
}

export function negateInt(a: Int): Int {
  if (typeof a === 'number') return 0 - a;
  if (a === minInt) throw createFault('ErrorArithmetic', `Negation overflow: -${a}`);
  return normalInt(-a);
}

/** Shifts never fail: too far gives 0 or the sign, and a negative count shifts the other way. */
export function shiftLeft(a: Int, count: Int): Int {
  if (count < 0) return shiftRight(a, count === minInt ? maxInt : negateInt(count));
  if (count >= 64) return 0;
  return normalInt(BigInt.asIntN(64, BigInt(a) << BigInt(count)));
}

export function shiftRight(a: Int, count: Int): Int {
  if (count < 0) return shiftLeft(a, count === minInt ? maxInt : negateInt(count));
  if (count >= 64) return a < 0 ? -1 : 0;
  return normalInt(BigInt(a) >> BigInt(count));
}

const isInt32 = (a: Int): a is number => typeof a === 'number' && (a | 0) === a;

export function andInts(a: Int, b: Int): Int {
  return isInt32(a) && isInt32(b) ? a & b : normalInt(BigInt(a) & BigInt(b));
}
export function orInts(a: Int, b: Int): Int {
  return isInt32(a) && isInt32(b) ? a | b : normalInt(BigInt(a) | BigInt(b));
}
export function xorInts(a: Int, b: Int): Int {
  return isInt32(a) && isInt32(b) ? a ^ b : normalInt(BigInt(a) ^ BigInt(b));
}

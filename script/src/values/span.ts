import type { Int, RangeValue } from './value.ts';

/** The part of something with `length` items that a start and a count mean: from the end if negative, clamped. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const toNumber = (value: Int): number => Number(value);

export function offset(start: Int, length: number): number {
  const at = toNumber(start);
  return at < 0 ? Math.max(0, length + at) : Math.min(at, length);
}

export function spanOf(start: Int, count: Int, length: number): Span {
  const from = offset(start, length);
  return { start: from, end: Math.min(length, from + Math.max(0, toNumber(count))) };
}

/** A range as the engine reads it for slices: the count is `end - start` before either is clamped. */
export function spanOfRange({ start, end, inclusive }: RangeValue, length: number): Span {
  const from = offset(start, length);
  const last = toNumber(end) + (inclusive ? 1 : 0);
  const to = toNumber(end) < 0 ? Math.max(0, length + last) : Math.min(last, length);
  return { start: from, end: Math.max(from, to) };
}

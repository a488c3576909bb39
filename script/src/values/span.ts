import type { Int, RangeValue } from './value.ts';

/** The part of something with `length` items that a start and a count mean: from the end if negative, clamped. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export function offset(start: Int, length: number): number {
  const at = Number(start);
  return at < 0 ? Math.max(0, length + at) : Math.min(at, length);
}

export function spanOf(start: Int, count: Int, length: number): Span {
  const from = offset(start, length);
  return { start: from, end: Math.min(length, from + Math.max(0, Number(count))) };
}

/** Either end of a range may count from the end; what lies outside is cut off. */
export function spanOfRange({ start, end, inclusive }: RangeValue, length: number): Span {
  const from = offset(start, length);
  const last = Number(end) + (inclusive ? 1 : 0);
  const to = Number(end) < 0 ? Math.max(0, length + last) : Math.min(last, length);
  return { start: from, end: Math.max(from, to) };
}

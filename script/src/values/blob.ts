import { Kind, type Value } from './value.ts';

export const byteOf = (value: number | bigint): number => Number(BigInt.asUintN(8, BigInt(value)));

export const utf8 = (text: string): number[] => [...new TextEncoder().encode(text)];

/** The bytes that `blob += value` adds, or null if it cannot. */
export function appendToBlob(value: Value): number[] | null {
  if (typeof value === 'number' || typeof value === 'bigint') return [byteOf(value)];
  if (typeof value === 'string') return utf8(value);
  if (typeof value !== 'object') return null;
  if (value.k === Kind.char) return utf8(value.c);
  return value.k === Kind.blob ? value.bytes.slice() : null;
}

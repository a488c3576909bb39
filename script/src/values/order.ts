import type { MapValue } from './value.ts';

/** By code point, as the engine orders text; JavaScript compares UTF-16 units, which differs beyond the BMP. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  if (at === length) return a.length - b.length;
  return weight(a.charCodeAt(at)) - weight(b.charCodeAt(at));
}

/** Surrogates stand for code points above every single unit. */
const weight = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

export function orderedKeys(map: MapValue): readonly string[] {
  map.sorted ??= [...map.entries.keys()].sort(compareText);
  return map.sorted;
}

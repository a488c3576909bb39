import { placed } from '../errors.ts';
import { arrayBounds, bitBounds, noGetter, noIndexer, stringBounds, typeMismatch } from '../faults.ts';
import { type Meter, newEntries, newText, readText } from '../meter.ts';
import type { Position } from '../position.ts';
import { charAt, charCount, sliceChars, spliceChars, visitText } from './chars.ts';
import { getters } from './getters.ts';
import { normalInt } from './int.ts';
import { typeBit, typeName } from './kinds.ts';
import { entryRef, itemRef, partRef, type Ref } from './ref.ts';
import { spanOfRange } from './span.ts';
import { char, type Int, Kind, type MapValue, type RangeValue, type Value } from './value.ts';

export interface IndexPlace {
  /** Of the index expression. */
  readonly index: Position;
  readonly bracket: Position;
}

export function getProperty(meter: Meter, of: Value, name: string, position: Position): Value {
  if (typeof of === 'object' && of.k === Kind.map) return of.entries.get(name);
  const getter = getters.get(name);
  if (getter === undefined || (getter.types & typeBit(of)) === 0) throw noGetter(name, of, position);
  return getter.get(meter, of);
}

const isInt = (value: Value): value is Int => typeof value === 'number' || typeof value === 'bigint';

/** Where in `length` items an index points; negative ones count from the end. */
function within(index: Int, length: number): number | null {
  const at = Number(index);
  const from = at < 0 ? length + at : at;
  return from >= 0 && from < length ? from : null;
}

export function getIndex(meter: Meter, of: Value, index: Value, place: IndexPlace): Value {
  if (typeof of === 'object') {
    if (of.k === Kind.array) return of.items[itemIndex(of.items.length, index, place)];
    if (of.k === Kind.map) return of.entries.get(keyOf(meter, index, place));
    if (of.k === Kind.blob) return of.bytes[itemIndex(of.bytes.length, index, place)];
  } else if (typeof of === 'string') {
    return getCharacters(meter, of, index, place);
  } else if (isInt(of)) {
    return getBits(of, index, place);
  }
  throw noIndexer(of, index, '', place.bracket);
}

function itemIndex(length: number, index: Value, place: IndexPlace): number {
  if (!isInt(index)) throw typeMismatch(index, 'i64', place.index);
  const at = within(index, length);
  if (at === null) throw arrayBounds(length, index, place.index);
  return at;
}

export function keyOf(meter: Meter, index: Value, place: IndexPlace): string {
  if (typeof index !== 'string') throw typeMismatch(index, 'string', place.index);
  readText(meter, index);
  return index;
}

const isRange = (value: Value): value is RangeValue => typeof value === 'object' && value.k === Kind.range;

function charIndex(text: string, index: Value, place: IndexPlace): number {
  if (!isInt(index)) throw typeMismatch(index, 'i64', place.index);
  const length = charCount(text);
  const at = within(index, length);
  if (at === null) throw stringBounds(length, index, place.index);
  return at;
}

function textSpan(text: string, range: RangeValue, place: IndexPlace) {
  const length = charCount(text);
  if (range.start < 0 && length + Number(range.start) < 0)
    throw stringBounds(length, range.start, place.index);
  return spanOfRange(range, length);
}

function getCharacters(meter: Meter, text: string, index: Value, place: IndexPlace): Value {
  visitText(meter, text);
  if (!isRange(index)) return char(charAt(text, charIndex(text, index, place)));
  const { start, end } = textSpan(text, index, place);
  return newText(meter, sliceChars(text, start, end));
}

interface Bits {
  readonly shift: bigint;
  readonly mask: bigint;
}

function bitsOf(index: Value, place: IndexPlace): Bits {
  if (isRange(index)) {
    const { start, end } = spanOfRange(index, 64);
    return { shift: BigInt(start), mask: (1n << BigInt(end - start)) - 1n };
  }
  if (!isInt(index)) throw typeMismatch(index, 'i64', place.index);
  const at = within(index, 64);
  if (at === null) throw bitBounds(index, place.index);
  return { shift: BigInt(at), mask: 1n };
}

function getBits(of: Int, index: Value, place: IndexPlace): Value {
  const { shift, mask } = bitsOf(index, place);
  const bits = (BigInt.asUintN(64, BigInt(of)) >> shift) & mask;
  return isRange(index) ? normalInt(BigInt.asIntN(64, bits)) : bits !== 0n;
}

export function replaceBits(of: Int, shift: bigint, mask: bigint, bits: bigint): Int {
  const kept = BigInt.asUintN(64, BigInt(of)) & ~(mask << shift);
  return normalInt(BigInt.asIntN(64, kept | ((bits & mask) << shift)));
}

function newEntry(meter: Meter, of: MapValue, position: Position): void {
  try {
    newEntries(meter, 1, of.entries.size + 1);
  } catch (error) {
    throw placed(error, position);
  }
}

/** The place of a map's entry, to write to or to change in place; null when `parent` is no map. */
export function propertyRef(meter: Meter, parent: Ref, name: string, position: Position): Ref | null {
  const of = parent.get();
  if (typeof of !== 'object' || of.k !== Kind.map) return null;
  if (!of.entries.has(name)) newEntry(meter, of, position);
  return entryRef(parent, name);
}

/** The place of an element; `assigned` is what the engine adds to the error of a type that has no elements. */
export function indexRef(meter: Meter, parent: Ref, index: Value, place: IndexPlace, assigned: string): Ref {
  const of = parent.get();
  if (typeof of === 'object') {
    if (of.k === Kind.array) return itemRef(parent, itemIndex(of.items.length, index, place));
    if (of.k === Kind.map) {
      const key = keyOf(meter, index, place);
      if (!of.entries.has(key)) newEntry(meter, of, place.bracket);
      return entryRef(parent, key);
    }
    if (of.k === Kind.blob) return byteRef(parent, of.bytes, itemIndex(of.bytes.length, index, place), place);
  } else if (typeof of === 'string') {
    return characterRef(meter, parent, of, index, place);
  } else if (isInt(of)) {
    return bitRef(parent, of, index, place);
  }
  throw noIndexer(of, index, assigned, place.bracket);
}

function byteRef(parent: Ref, bytes: readonly number[], at: number, place: IndexPlace): Ref {
  return partRef(parent, bytes[at], (value) => {
    if (!isInt(value)) throw typeMismatch(value, 'i64', place.index);
    const own = parent.own() as { bytes: number[] };
    own.bytes[at] = Number(BigInt.asUintN(8, BigInt(value)));
    return own as Value;
  });
}

function characterRef(meter: Meter, parent: Ref, text: string, index: Value, place: IndexPlace): Ref {
  visitText(meter, text);
  if (isRange(index)) {
    const { start, end } = textSpan(text, index, place);
    return partRef(parent, sliceChars(text, start, end), (value) => {
      if (typeof value !== 'string') throw noIndexer(text, index, ` = ${typeName(value)}`, place.bracket);
      return newText(meter, spliceChars(text, start, end, value));
    });
  }
  const at = charIndex(text, index, place);
  return partRef(parent, char(charAt(text, at)), (value) => {
    if (typeof value !== 'object' || value.k !== Kind.char) throw typeMismatch(value, 'char', place.index);
    return spliceChars(text, at, at + 1, value.c);
  });
}

function bitRef(parent: Ref, of: Int, index: Value, place: IndexPlace): Ref {
  const { shift, mask } = bitsOf(index, place);
  return partRef(parent, getBits(of, index, place), (value) => {
    if (isRange(index)) {
      if (!isInt(value)) throw typeMismatch(value, 'i64', place.index);
      return replaceBits(of, shift, mask, BigInt(value));
    }
    if (typeof value !== 'boolean') throw typeMismatch(value, 'bool', place.index);
    return replaceBits(of, shift, mask, value ? 1n : 0n);
  });
}

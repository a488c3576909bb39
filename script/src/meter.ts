import { createFault } from './errors.ts';
import type { Limits } from './limits.ts';
import { nowhere, type Position } from './position.ts';
import { type Container, Kind } from './values/value.ts';

/** What is left of the limits of one run. */
export interface Meter {
  readonly limits: Limits;
  /** Operations; below zero the script ends. */
  left: number;
  /** Bytes that new values may still take before somebody counts what is alive. */
  memory: number;
  /** Counts what is alive, and gives back what is not; it ends the script when there is nothing to give back. */
  readonly recount: () => void;
  /** Milliseconds of a clock that only goes forward. */
  readonly now: () => number;
}

export const tooManyOperations = (position: Position = nowhere) =>
  createFault('ErrorTooManyOperations', 'Too many operations', position);

/** Operations for work that grows with the data: a long scan must not cost as little as an addition. */
export function spend(meter: Meter, steps: number): void {
  meter.left -= steps >> 4;
  if (meter.left < 0) throw tooManyOperations();
}

/** New storage costs memory, and writing it costs time. */
export function charge(meter: Meter, bytes: number): void {
  meter.left -= bytes >> 8;
  if (meter.left < 0) throw tooManyOperations();
  hold(meter, bytes);
}

/** Room that something takes which cost the script no work. */
export function hold(meter: Meter, bytes: number): void {
  meter.memory -= bytes;
  if (meter.memory < 0) meter.recount();
}

export const tooLarge = (what: string) => createFault('ErrorDataTooLarge', `${what} too large`);

export function checkText(meter: Meter, length: number): void {
  if (length > meter.limits.stringLength) throw tooLarge('Length of string');
}

/** A text that did not exist before. */
export function newText(meter: Meter, text: string): string {
  if (text.length > 64) {
    checkText(meter, text.length);
    charge(meter, text.length * 2);
  }
  return text;
}

/** Looking at all of a long text: a text that was put together is written out only then. */
export function readText(meter: Meter, text: string): void {
  if (text.length > 1024) charge(meter, text.length * 2);
}

export function checkArray(meter: Meter, length: number): void {
  if (length > meter.limits.arrayLength) throw tooLarge('Size of array/BLOB');
}

function checkMap(meter: Meter, size: number): void {
  if (size > meter.limits.mapSize) throw tooLarge('Size of object map');
}

export const itemBytes = 16;
export const entryBytes = 64;

/** Room for `count` items that did not exist before, in an array that then holds `length`. */
export function newItems(meter: Meter, count: number, length: number): void {
  checkArray(meter, length);
  charge(meter, count * itemBytes);
}

export function newEntries(meter: Meter, count: number, size: number): void {
  checkMap(meter, size);
  charge(meter, count * entryBytes);
}

export function newCopy(meter: Meter, container: Container): void {
  if (container.k === Kind.array) charge(meter, container.items.length * itemBytes);
  else if (container.k === Kind.map) charge(meter, container.entries.size * entryBytes);
  else charge(meter, container.bytes.length * 8);
}

export const outOfMemory = () => tooLarge('Total size of values');

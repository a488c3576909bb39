import { type Meter, newCopy } from '../meter.ts';
import { type Cell, type Container, copyOf, Kind, share, type Value } from './value.ts';

/** A place that holds a value: a variable, an element, a property. `this` in a method is one. */
export interface Ref {
  get(): Value;
  set(value: Value): undefined;
  /** The value, for changing it in place: this place alone holds it then. */
  own(): Value;
  /** The place belongs to a constant; empty when its name is not known. */
  readonly constant: string | null;
  /** Pays for copies. */
  readonly meter: Meter;
}

const isShared = (value: Value): value is Container =>
  typeof value === 'object' && value.k >= Kind.array && value.k <= Kind.blob && (value as Container).shared;

/** Copying takes time and room, though the script does not see it. */
function paidCopy(meter: Meter, container: Container): Container {
  newCopy(meter, container);
  return copyOf(container);
}

export function slotRef(meter: Meter, slots: unknown[], index: number, constant: string | null): Ref {
  return {
    meter,
    constant,
    get: () => slots[index] as Value,
    set: (value) => {
      slots[index] = value;
    },
    own: () => ownSlot(meter, slots, index),
  };
}

export function ownSlot(meter: Meter, slots: unknown[], index: number): Value {
  const value = slots[index] as Value;
  if (!isShared(value)) return value;
  const copy = paidCopy(meter, value);
  slots[index] = copy;
  return copy;
}

export function cellRef(meter: Meter, cell: Cell, constant: string | null): Ref {
  return {
    meter,
    constant,
    get: () => cell.v,
    set: (value) => {
      cell.v = value;
    },
    own: () => {
      if (isShared(cell.v)) cell.v = paidCopy(meter, cell.v);
      return cell.v;
    },
  };
}

/** A value that no place holds; what is changed in it is lost with it. */
export function tempRef(meter: Meter, initial: Value, constant: string | null = null): Ref {
  let value = initial;
  return {
    meter,
    constant,
    get: () => value,
    set: (next) => {
      value = next;
    },
    own: () => {
      if (isShared(value)) value = paidCopy(meter, value);
      return value;
    },
  };
}

/** The container is owned before its element: a copy of it shares the elements with the original. */
export function itemRef(parent: Ref, index: number): Ref {
  const items = () => (parent.own() as { items: Value[] }).items;
  return {
    meter: parent.meter,
    constant: parent.constant,
    get: () => (parent.get() as { items: Value[] }).items[index],
    set: (value) => {
      const own = items();
      if (index < own.length) own[index] = value;
    },
    own: () => ownSlot(parent.meter, items(), index),
  };
}

export function entryRef(parent: Ref, key: string): Ref {
  return {
    meter: parent.meter,
    constant: parent.constant,
    get: () => (parent.get() as { entries: Map<string, Value> }).entries.get(key),
    set: (value) => setEntry(parent.own(), key, value),
    own: () => {
      const owner = parent.own();
      const value = (owner as { entries: Map<string, Value> }).entries.get(key);
      if (!isShared(value)) return value;
      const copy = paidCopy(parent.meter, value);
      setEntry(owner, key, copy);
      return copy;
    },
  };
}

export function setEntry(owner: Value, key: string, value: Value): undefined {
  const map = owner as { entries: Map<string, Value>; sorted: readonly string[] | null };
  if (map.sorted !== null && !map.entries.has(key)) map.sorted = null;
  map.entries.set(key, value);
}

/** A part of a value that is written by replacing the whole: a character of a string, a bit of an integer. */
export function partRef(parent: Ref, value: Value, write: (value: Value) => Value): Ref {
  return {
    meter: parent.meter,
    constant: parent.constant,
    get: () => value,
    set: (next) => parent.set(write(next)),
    own: () => share(value),
  };
}

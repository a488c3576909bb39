import { hash } from 'node:crypto';

/** Request bodies stop at 32; the margin is for the records that wrap them. The bound also ends cyclic values. */
const MAX_DEPTH = 128;

/**
 * RFC 8785 (JCS). Members whose value is undefined are left out, as JSON.stringify does, because absent and undefined
 * are one thing in our records; everything else that JSON cannot carry exactly is a TypeError, never a silent change,
 * since hashes are built on this text. So also Date and any other object that would need its toJSON.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

export function sha256Canonical(value: unknown): Buffer {
  return hash('sha256', canonicalJson(value), 'buffer');
}

function write(value: unknown, depth: number): string {
  if (typeof value === 'string') return writeString(value);
  if (typeof value === 'number') return writeNumber(value);
  if (typeof value === 'boolean' || value === null) return String(value);
  if (typeof value !== 'object') throw new TypeError(`${typeof value} is not a JSON value`);
  if (depth >= MAX_DEPTH) throw new TypeError('value is nested too deeply or cyclic');
  return Array.isArray(value) ? writeArray(value, depth + 1) : writeObject(value, depth + 1);
}

function writeString(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('string holds a lone surrogate');
  // RFC 8785 3.2.2.2 takes its escapes from ECMAScript.
  return JSON.stringify(text);
}

function writeNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} is not a JSON value`);
  // RFC 8785 3.2.2.3 takes its number format from ECMAScript; String(-0) is already '0'.
  return String(value);
}

function writeArray(items: readonly unknown[], depth: number): string {
  let text = '[';
  // By index, not by map: a hole has to be refused like any other undefined.
  for (let index = 0; index < items.length; index += 1) {
    if (index > 0) text += ',';
    text += write(items[index], depth);
  }
  return `${text}]`;
}

function writeObject(value: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError('not a plain object');
  let text = '';
  // The default sort compares UTF-16 code units, which is the order RFC 8785 3.2.3 demands.
  for (const key of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, key);
    if (member === undefined) continue;
    text += `${text === '' ? '' : ','}${writeString(key)}:${write(member, depth)}`;
  }
  return `{${text}}`;
}

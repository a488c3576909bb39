import { createFault, syntaxFault } from '../errors.ts';
import { charge, newEntries, newItems, newText } from '../meter.ts';
import { positionAt } from '../position.ts';
import { maxInt, minInt, normalInt } from '../values/int.ts';
import { writeJson } from '../values/json.ts';
import { Type as T, typeName } from '../values/kinds.ts';
import { array, float, Kind, map, type Value } from '../values/value.ts';
import { newWritten } from '../values/written.ts';
import { type Native, type NativeRuntime, pure } from './native.ts';

interface Reader {
  readonly rt: NativeRuntime;
  readonly text: string;
  at: number;
}

const maxNesting = 64;

function fail(reader: Reader, message: string) {
  const before = reader.text.slice(0, reader.at).split('\n');
  const column = Array.from(before[before.length - 1] ?? '').length + 1;
  return syntaxFault(message, positionAt(before.length, column));
}

function skipBlank(reader: Reader): void {
  while (/[ \t\r\n]/.test(reader.text.charAt(reader.at))) reader.at += 1;
}

function accept(reader: Reader, symbol: string): boolean {
  skipBlank(reader);
  if (reader.text.charAt(reader.at) !== symbol) return false;
  reader.at += 1;
  return true;
}

const literals: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['null', undefined],
  ['true', true],
  ['false', false],
]);

function readValue(reader: Reader, depth: number): Value {
  if (depth > maxNesting) throw fail(reader, 'Expression exceeds maximum complexity');
  skipBlank(reader);
  const start = reader.text.charAt(reader.at);
  if (start === '') throw fail(reader, 'Script is incomplete');
  if (start === '{') return readMap(reader, depth);
  if (start === '[') return readArray(reader, depth);
  if (start === '"') return readText(reader);
  const [word] = /^[A-Za-z]+/.exec(reader.text.slice(reader.at, reader.at + 8)) ?? [''];
  if (!literals.has(word)) return readNumber(reader);
  reader.at += word.length;
  return literals.get(word);
}

function readMap(reader: Reader, depth: number): Value {
  const entries = new Map<string, Value>();
  reader.at += 1;
  while (!accept(reader, '}')) {
    skipBlank(reader);
    if (reader.text.charAt(reader.at) !== '"') throw fail(reader, 'Expecting name of a property');
    const key = readText(reader);
    if (!accept(reader, ':'))
      throw fail(reader, `Expecting ':' to follow the property '${key}' in this object map literal`);
    newEntries(reader.rt, 1, entries.size + 1);
    entries.set(key, readValue(reader, depth + 1));
    if (accept(reader, ',')) continue;
    if (accept(reader, '}')) break;
    throw fail(reader, "Expecting '}' to end this object map literal");
  }
  return map(entries);
}

function readArray(reader: Reader, depth: number): Value {
  const items: Value[] = [];
  reader.at += 1;
  while (!accept(reader, ']')) {
    newItems(reader.rt, 1, items.length + 1);
    items.push(readValue(reader, depth + 1));
    if (accept(reader, ',')) continue;
    if (accept(reader, ']')) break;
    throw fail(reader, "Expecting ']' to end this array literal");
  }
  return array(items);
}

function readText(reader: Reader): string {
  const pattern = /"(?:[^"\\\n]|\\.)*"/y;
  pattern.lastIndex = reader.at;
  const [found] = pattern.exec(reader.text) ?? [null];
  if (found === null) throw fail(reader, 'Open string is not terminated');
  try {
    const text = JSON.parse(found) as string;
    reader.at += found.length;
    return newText(reader.rt, text);
  } catch {
    throw fail(reader, 'Invalid escape sequence');
  }
}

function readNumber(reader: Reader): Value {
  const pattern = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;
  pattern.lastIndex = reader.at;
  const [found] = pattern.exec(reader.text) ?? [null];
  if (found === null) throw fail(reader, `Unexpected '${reader.text.charAt(reader.at)}'`);
  reader.at += found.length;
  if (/[.eE]/.test(found) || found.length > 20) return float(Number(found));
  const value = BigInt(found);
  return value > maxInt || value < minInt ? float(Number(found)) : normalInt(value);
}

/** Only an object makes a map; anything else is of the wrong type. */
function parseJson(rt: NativeRuntime, text: string): Value {
  charge(rt, text.length * 2);
  const reader: Reader = { rt, text, at: 0 };
  const value = readValue(reader, 0);
  skipBlank(reader);
  if (reader.at < text.length) throw fail(reader, `Unexpected '${text.charAt(reader.at)}'`);
  if (typeof value === 'object' && value.k === Kind.map) return value;
  const actual = typeName(value);
  throw createFault('ErrorMismatchOutputType', `Output type incorrect: ${actual} (expecting map)`, 0, {
    requested: 'map',
    actual,
  });
}

export const jsonNatives: readonly Native[] = [
  pure('parse_json', [T.string], (rt, [text]) => parseJson(rt, text as string)),
  pure('to_json', [T.map], (rt, [value]) => newWritten(rt, writeJson, value)),
];

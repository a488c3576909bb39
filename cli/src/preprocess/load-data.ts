import { resolve } from 'node:path';
import { parse as parseToml, TomlDate, TomlError } from 'smol-toml';
import { type Directive, findDirectives, loadGrammar } from './directives.ts';
import { type Data, numberText, toLiteral } from './literal.ts';
import { generated, type MappedText, type Origin, originAt, replaceIn, textOf } from './mapped-text.ts';
import { preprocessError } from './preprocess-error.ts';
import type { FileReader } from './read-files.ts';
import { offsetAt, type Place, type SourceUnit } from './source-place.ts';

/** Puts a variable with the data in the place of each load. Paths are relative to the script that is run. */
export function expandLoads(pieces: MappedText, entryFolder: string, files: FileReader): MappedText {
  const { found, fault } = findDirectives(textOf(pieces), loadGrammar);
  if (fault !== null) throw preprocessError(fault.message, originAt(pieces, fault.offset));
  return replaceIn(
    pieces,
    found.map((directive) => {
      const at = originAt(pieces, directive.start);
      if (at === null) throw new TypeError('a directive comes from somewhere');
      const data = load(directive, resolve(entryFolder, directive.path), at, files);
      const text = `let ${directive.variable} = ${data};`;
      const insteadOf = `${directive.word} "${directive.path}"`;
      return { start: directive.start, end: directive.end, pieces: [generated(text, at.place, insteadOf)] };
    }),
  );
}

function load({ word }: Directive, path: string, at: Origin, files: FileReader): string {
  const read = files(path);
  if ('problem' in read) throw preprocessError(`${read.name}: ${read.problem}`, at);
  const unit: SourceUnit = { ...read, from: at.place };
  const data = word === 'load_json' ? readJson(unit) : readToml(unit);
  try {
    return toLiteral(data);
  } catch (error) {
    if (error instanceof RangeError) throw preprocessError(`${unit.name}: ${error.message}`, at);
    throw error;
  }
}

/** A number keeps the text it was written with. */
function readJson(unit: SourceUnit): Data {
  try {
    return JSON.parse(unit.text, (_key, value: Data, context?: { source?: string }) =>
      typeof value === 'number' ? jsonNumber(value, context?.source) : value,
    ) as Data;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw preprocessError(`${unit.name}: ${plainMessage(error.message)}`, {
      place: jsonFaultPlace(unit, error.message),
      insteadOf: null,
    });
  }
}

const jsonNumber = (value: number, source: string | undefined): Data =>
  source === undefined || !Number.isFinite(value) ? value : numberText(source);

const plainMessage = (message: string): string =>
  message.replace(/ in JSON at position \d+.*$/s, '').replace(/, .* is not valid JSON$/s, '');

/** The engine names the position of most faults; of the others it shows the rest of the text or says that it ended. */
function jsonFaultPlace(unit: SourceUnit, message: string): Place {
  const position = /at position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return { unit, offset: Number(position) };
  const token = /^Unexpected token '(.+?)', /s.exec(message)?.[1];
  const offset = message.includes('end of JSON') ? unit.text.length : unit.text.indexOf(token ?? '');
  return { unit, offset: Math.max(offset, 0) };
}

function readToml(unit: SourceUnit): Data {
  try {
    return plain(parseToml(unit.text, { integersAsBigInt: true }));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const { line, column } = error;
    const message = error.message.split('\n')[0] ?? '';
    throw preprocessError(`${unit.name}: ${message.replace(/^Invalid TOML document: /, '')}`, {
      place: { unit, offset: offsetAt(unit.text, { line, column }) },
      insteadOf: null,
    });
  }
}

/** Dates become texts, as they were written. */
function plain(value: unknown): Data {
  if (value instanceof TomlDate) return value.toISOString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
  return value as Data;
}

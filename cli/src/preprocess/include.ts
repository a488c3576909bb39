import { dirname, extname, resolve } from 'node:path';
import { type Directive, findDirectives, includeGrammar } from './directives.ts';
import { generated, type MappedText, type Replacement, replaceIn, verbatim } from './mapped-text.ts';
import { preprocessError } from './preprocess-error.ts';
import type { FileReader } from './read-files.ts';
import { lineColumnAt, type Place, type SourceUnit } from './source-place.ts';

const extension = '.openapp';

export interface Including {
  readonly files: FileReader;
  readonly maxLength: number;
}

/** The text of a script with everything that it includes in the place of the include. */
export function expandIncludes(entry: SourceUnit, { files, maxLength }: Including): MappedText {
  let length = entry.text.length;
  const expand = (unit: SourceUnit): MappedText => {
    const { found, fault } = findDirectives(unit.text, includeGrammar);
    if (fault !== null) throw preprocessError(fault.message, origin(unit, fault.offset));
    return replaceIn([verbatim(unit.text, { unit, offset: 0 })], found.map(replacement(unit)));
  };
  const replacement =
    (unit: SourceUnit) =>
    (directive: Directive): Replacement => {
      const place = { unit, offset: directive.start };
      const included = readIncluded(files, directive, place);
      length += included.text.length;
      if (length > maxLength)
        throw preprocessError(
          `The script is longer than ${maxLength} characters`,
          origin(unit, place.offset),
        );
      return { start: directive.start, end: directive.end, pieces: onLinesOfItsOwn(expand(included), place) };
    };
  return expand(entry);
}

const origin = (unit: SourceUnit, offset: number) => ({ place: { unit, offset }, insteadOf: null });

/** A comment at the end of a file must not swallow what follows the include. */
const onLinesOfItsOwn = (pieces: MappedText, place: Place): MappedText =>
  pieces.at(-1)?.text.endsWith('\n') === false ? [...pieces, generated('\n', place, 'include')] : pieces;

function readIncluded(files: FileReader, { path }: Directive, from: Place): SourceUnit {
  const wanted = resolve(dirname(from.unit.path), extname(path) === extension ? path : path + extension);
  const at = { place: from, insteadOf: null };
  const read = files(wanted);
  if ('problem' in read) throw preprocessError(`${read.name}: ${read.problem}`, at);
  const chain = unitsUpTo(from.unit);
  const first = chain.findIndex((unit) => unit.path === read.path);
  if (first >= 0) {
    const names = [...chain.slice(first).map(({ name }) => name), read.name];
    throw preprocessError(`A file includes itself: ${names.join(' → ')}`, at);
  }
  return { ...read, from };
}

/** From the entry down to the unit. */
function unitsUpTo(unit: SourceUnit): SourceUnit[] {
  return unit.from === null ? [unit] : [...unitsUpTo(unit.from.unit), unit];
}

export interface IncludedFrom {
  readonly name: string;
  readonly line: number;
}

/** The includes that lead to a unit, the innermost first. */
export function inclusionsOf({ from }: SourceUnit): IncludedFrom[] {
  if (from === null) return [];
  const { line } = lineColumnAt(from.unit.text, from.offset);
  return [{ name: from.unit.name, line }, ...inclusionsOf(from.unit)];
}

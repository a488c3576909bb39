import { dirname } from 'node:path';
import { defaultLimits } from '@lintel/script/limits';
import { expandIncludes, type IncludedFrom, inclusionsOf } from './include.ts';
import { expandLoads } from './load-data.ts';
import { type Origin, originAt, textOf } from './mapped-text.ts';
import { expandPlaceholders } from './placeholders.ts';
import type { FileReader } from './read-files.ts';
import { type LineColumn, lineAt, lineColumnAt, offsetAt, type SourceUnit } from './source-place.ts';

export interface PreprocessInput {
  readonly entry: { readonly path: string; readonly name: string; readonly text: string };
  readonly values: ReadonlyMap<string, string>;
  readonly files: FileReader;
}

export interface Preprocessed {
  /** What the language gets. */
  readonly text: string;
  /** Where a place in the text comes from. */
  readonly locate: (place: LineColumn) => Located;
}

/** A place in a file that somebody wrote. */
export interface Located extends LineColumn {
  readonly name: string;
  readonly lineText: string;
  readonly insteadOf: string | null;
  /** The innermost first. */
  readonly includedFrom: readonly IncludedFrom[];
}

/** Includes, then data, then placeholders: each step sees what the one before made. */
export function preprocess({ entry, values, files }: PreprocessInput): Preprocessed {
  const unit: SourceUnit = { ...entry, from: null };
  const included = expandIncludes(unit, { files, maxLength: defaultLimits.sourceLength });
  const loaded = expandLoads(included, dirname(entry.path), files);
  const pieces = expandPlaceholders(loaded, values);
  const text = textOf(pieces);
  return {
    text,
    locate: (place) => describeOrigin(originAt(pieces, offsetAt(text, place)) ?? start(unit)),
  };
}

const start = (unit: SourceUnit): Origin => ({ place: { unit, offset: 0 }, insteadOf: null });

export function describeOrigin({ place: { unit, offset }, insteadOf }: Origin): Located {
  const { line, column } = lineColumnAt(unit.text, offset);
  const lineStart = unit.text.lastIndexOf('\n', offset - 1) + 1;
  return {
    name: unit.name,
    line,
    column,
    lineText: lineAt(unit.text, offset === 0 ? 0 : lineStart).replace(/\r$/, ''),
    insteadOf,
    includedFrom: inclusionsOf(unit),
  };
}

import { generated, type MappedText, originAt, type Replacement, replaceIn, textOf } from './mapped-text.ts';
import { PreprocessError } from './preprocess-error.ts';
import { createRegionReader, scan } from './scan.ts';

const placeholder = /\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}/g;

/**
 * Puts values in the place of `{{KEY}}`, as raw text, in code and in texts. Comments stay as they are: a value of
 * several lines would run out of its comment, and a key that is only spoken about needs no value.
 */
export function expandPlaceholders(pieces: MappedText, values: ReadonlyMap<string, string>): MappedText {
  const text = textOf(pieces);
  const kindAt = createRegionReader(scan(text).regions);
  const replacements: Replacement[] = [];
  const missing = new Map<string, number>();
  for (const match of text.matchAll(placeholder)) {
    const [written, key = ''] = match;
    if (kindAt(match.index) === 'comment') continue;
    const value = values.get(key);
    const at = originAt(pieces, match.index);
    if (value === undefined || at === null) missing.set(key, missing.get(key) ?? match.index);
    else {
      const inserted = [generated(value, at.place, written)];
      replacements.push({ start: match.index, end: match.index + written.length, pieces: inserted });
    }
  }
  if (missing.size > 0) throw missingValues(pieces, missing);
  return replaceIn(pieces, replacements);
}

/** All of them at once, each at its first place. */
function missingValues(pieces: MappedText, missing: ReadonlyMap<string, number>): PreprocessError {
  return new PreprocessError(
    [...missing].map(([key, offset]) => ({
      message: `No value for {{${key}}}`,
      at: originAt(pieces, offset),
    })),
  );
}

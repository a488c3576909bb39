import { AppError, invalid } from './app-error.ts';
import { entityLimit, type Principal } from './call.ts';
import { canonicalJson } from './canonical-json.ts';
import { cleanText, parseLocalizedText } from './text.ts';

export function parseResourceName(input: unknown, defaultLocale: string): Record<string, string> {
  const name = parseLocalizedText(input, { defaultLocale, maxLength: 200 });
  if (!name.ok) throw invalid(`/name${name.path}`, name.reason);
  return name.value;
}

export function parseExternalId(input: string | null): string | null {
  if (input === null) return null;
  const cleaned = cleanText(input, { maxLength: 255 });
  if (!cleaned.ok) throw invalid('/external_id', cleaned.reason);
  return cleaned.text;
}

/** What an edit changes, by the names the fields have on the wire: for the event. */
export function changedFields<T extends object>(before: T, edit: Partial<T>): string[] {
  const fields = Object.keys(edit) as (keyof T & string)[];
  return fields
    .filter((field) => canonicalJson(before[field]) !== canonicalJson(edit[field]))
    .map((field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
}

/** A credential for certain entities must not change what others hang on, nor make new ones. */
export function requireUnlimited(principal: Principal): void {
  if (entityLimit(principal) !== null)
    throw new AppError('forbidden', 'this credential is limited to certain entities');
}

const MAX_METADATA_LENGTH = 16_384;

/** Metadata goes to every connection and into every list, so it stays small. */
export function requireSmallMetadata(metadata: Readonly<Record<string, unknown>>, path: string): void {
  if (JSON.stringify(metadata).length > MAX_METADATA_LENGTH)
    throw invalid(path, `must not be longer than ${MAX_METADATA_LENGTH} characters of JSON`);
}

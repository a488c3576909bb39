export type TextResult = { ok: true; text: string } | { ok: false; reason: string };
export type LocalizedTextResult =
  | { ok: true; value: Record<string, string> }
  | { ok: false; path: string; reason: string };

/**
 * Names reach consoles, logs and language models, so nothing invisible and nothing that reorders what is seen may hide
 * in them. Variation selectors stay allowed: emoji need them.
 */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/[\p{Cc}\u2028\u2029]/u, 'a control character'],
  [/[\u061C\u200E\u200F\u202A-\u202E\u2066-\u206F]/u, 'a bidirectional control'],
  [
    /\u034F|\u17B4|\u17B5|[\u00AD\u115F\u1160\u180E\u200B-\u200D\u2060-\u2065\u3164\uFEFF\uFFA0]/u,
    'a zero-width character',
  ],
  [/[\u{E0000}-\u{E007F}]/u, 'a tag character'],
];

/** BCP 47 langtag without extensions and private use. */
const LOCALE = /^[a-z]{2,3}(?:-[a-z]{4})?(?:-(?:[a-z]{2}|\d{3}))?(?:-(?:[a-z\d]{5,8}|\d[a-z\d]{3}))*$/i;
const MAX_LOCALE_LENGTH = 35;
const MAX_LOCALES = 64;

/** NFC and trimmed. Length counts code points, as JSON Schema and PostgreSQL do. */
export function cleanText(input: string, { maxLength }: { maxLength: number }): TextResult {
  if (!input.isWellFormed()) return { ok: false, reason: 'must not contain a lone surrogate' };
  for (const [pattern, name] of REFUSED) {
    // Before trimming, which would let a line break or a byte order mark at the edge through.
    if (pattern.test(input)) return { ok: false, reason: `must not contain ${name}` };
  }
  const text = input.normalize('NFC').trim();
  if (text === '') return { ok: false, reason: 'must not be empty' };
  if (codePointCount(text) > maxLength) {
    return { ok: false, reason: `must not be longer than ${maxLength} characters` };
  }
  return { ok: true, text };
}

/** A locale in its usual case (`zh-Hant`, `de-AT`), or null when it does not look like BCP 47. */
export function canonicalLocale(text: string): string | null {
  if (text.length > MAX_LOCALE_LENGTH || !LOCALE.test(text)) return null;
  const [language = '', ...rest] = text.toLowerCase().split('-');
  return [language, ...rest.map(canonicalSubtag)].join('-');
}

/**
 * Accepts `"text"` (stored under the default locale), `{"de": "text"}` and `{"value": {"de": "text"}}`; the wrapper is
 * unambiguous because no locale has a five-letter language. `path` is a JSON pointer from the input.
 */
export function parseLocalizedText(
  input: unknown,
  { defaultLocale, maxLength }: { defaultLocale: string; maxLength: number },
): LocalizedTextResult {
  if (typeof input === 'string') {
    const cleaned = cleanText(input, { maxLength });
    return cleaned.ok ? { ok: true, value: { [defaultLocale]: cleaned.text } } : { ...cleaned, path: '' };
  }
  if (!isRecord(input)) return { ok: false, path: '', reason: 'must be a text or a map of locale to text' };
  const isWrapped = Object.hasOwn(input, 'value') && Object.keys(input).length === 1;
  if (!isWrapped) return parseLocaleMap(input, '', maxLength);
  if (!isRecord(input.value)) {
    return { ok: false, path: '/value', reason: 'must be a map of locale to text' };
  }
  return parseLocaleMap(input.value, '/value', maxLength);
}

/** RFC 4647 lookup, then a sibling of the same language, then English, then the first locale by name. */
export function pickText(map: Readonly<Record<string, string>>, locale: string): string {
  const wanted = canonicalLocale(locale)?.split('-') ?? [];
  for (let length = wanted.length; length > 0; length -= 1) {
    const candidate = wanted.slice(0, length).join('-');
    if (Object.hasOwn(map, candidate)) return map[candidate] ?? '';
  }
  // Sorted, because a map that went through jsonb has lost its order.
  const locales = Object.keys(map).sort();
  const sibling = locales.find((key) => key.split('-')[0] === wanted[0]);
  const key = sibling ?? (Object.hasOwn(map, 'en') ? 'en' : locales[0]);
  return key === undefined ? '' : (map[key] ?? '');
}

function parseLocaleMap(map: Record<string, unknown>, base: string, maxLength: number): LocalizedTextResult {
  const entries = Object.entries(map);
  if (entries.length === 0) return { ok: false, path: base, reason: 'must name at least one locale' };
  if (entries.length > MAX_LOCALES) {
    return { ok: false, path: base, reason: `must not name more than ${MAX_LOCALES} locales` };
  }
  const value: Record<string, string> = {};
  for (const [key, text] of entries) {
    const path = `${base}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const locale = canonicalLocale(key);
    if (locale === null) return { ok: false, path, reason: 'must be a BCP 47 locale such as en or de-AT' };
    if (Object.hasOwn(value, locale)) return { ok: false, path, reason: `names the locale ${locale} twice` };
    if (typeof text !== 'string') return { ok: false, path, reason: 'must be a text' };
    const cleaned = cleanText(text, { maxLength });
    if (!cleaned.ok) return { ...cleaned, path };
    value[locale] = cleaned.text;
  }
  return { ok: true, value };
}

function canonicalSubtag(subtag: string): string {
  if (/^[a-z]{4}$/.test(subtag)) return subtag.charAt(0).toUpperCase() + subtag.slice(1);
  return subtag.length === 2 ? subtag.toUpperCase() : subtag;
}

function codePointCount(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

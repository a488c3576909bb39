export type DurationResult = { ok: true; seconds: number } | { ok: false; reason: string };

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
const MAX_SECONDS = 3650 * DAY;
/** Longest sensible spelling with room for leading zeros. */
const MAX_TEXT = 64;

/** RFC 5545 3.3.6 writes its letters as ABNF strings, which ignore case; weeks stand alone. */
const ISO = /^\+?P(?:(?<w>\d+)W|(?:(?<d>\d+)D)?(?:T(?=\d)(?:(?<h>\d+)H)?(?:(?<m>\d+)M)?(?:(?<s>\d+)S)?)?)$/i;
/** Each unit at most once, largest first: a sum written in any other order is more likely a mistake. */
const COMPACT = /^(?:(?<w>\d+)w)?(?:(?<d>\d+)d)?(?:(?<h>\d+)h)?(?:(?<m>\d+)[mM])?(?:(?<s>\d+)s)?$/;
const YEARS_OR_MONTHS = /^(?:\+?P\d+[YM]|(?:\d+[a-z])*\d+(?:y|mo))/i;

/** `P1DT2H30M`, `P1W` or `2h30m`; capital M is minutes in the compact form too. More than zero, at most 3650 days. */
export function parseDurationSeconds(text: string): DurationResult {
  if (text.length > MAX_TEXT) return refuse('duration is too long a text');
  if (text.startsWith('-')) return refuse('duration must not be negative');
  if (YEARS_OR_MONTHS.test(text)) return refuse('duration must not use years or months; use days');
  const units = (ISO.exec(text) ?? COMPACT.exec(text))?.groups;
  if (units === undefined || Object.values(units).every((count) => count === undefined)) {
    return refuse('duration must look like PT1H, P1DT2H30M, 90s or 2h30m');
  }
  const count = (unit: string): number => Number(units[unit] ?? 0);
  const seconds = count('w') * WEEK + count('d') * DAY + count('h') * HOUR + count('m') * MINUTE + count('s');
  if (seconds === 0) return refuse('duration must be longer than zero');
  if (seconds > MAX_SECONDS) return refuse('duration must not exceed 3650d');
  return { ok: true, seconds };
}

function refuse(reason: string): DurationResult {
  return { ok: false, reason };
}

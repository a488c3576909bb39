import { createLru } from '../kernel/lru.ts';

/** Wall time somewhere. Days are counted from 1970-01-01, so that a date is one number. */
export interface LocalTime {
  readonly day: number;
  readonly minute: number;
  /** 0 is Sunday. */
  readonly weekday: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** About 13 months: a table holds this much of a zone, two or three changes of its clocks. */
const spanMs = 2 ** 35;
/** No zone has put its clocks forth and back within this time. */
const probeMs = 7 * dayMs;

interface Change {
  readonly fromMs: number;
  readonly offsetMs: number;
}

/** Asking Intl takes microseconds, a look into this table nanoseconds; zones × spans that are in use stay small. */
const tables = createLru<string, readonly Change[]>(2_000);
const formats = new Map<string, Intl.DateTimeFormat>();

export function localTime(zone: string, atMs: number): LocalTime {
  const local = atMs + offsetMs(zone, atMs);
  const day = Math.floor(local / dayMs);
  return { day, minute: Math.floor((local - day * dayMs) / minuteMs), weekday: (((day + 4) % 7) + 7) % 7 };
}

export function offsetMs(zone: string, atMs: number): number {
  if (zone === 'UTC') return 0;
  const span = Math.floor(atMs / spanMs);
  const key = `${zone} ${span}`;
  let table = tables.get(key);
  if (table === undefined) {
    table = buildTable(zone, span * spanMs);
    tables.set(key, table);
  }
  return table.findLast(({ fromMs }) => fromMs <= atMs)?.offsetMs ?? 0;
}

/** A zone of the IANA database: a mere offset, which Intl takes as well, knows nothing of summer. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

export function dayOfDate(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / dayMs;
}

/** The inverse of dayOfDate, by the days of the Gregorian calendar's 400-year cycle. */
export function dateOfDay(day: number): string {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const inEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (inEra - Math.floor(inEra / 1460) + Math.floor(inEra / 36_524) - Math.floor(inEra / 146_096)) / 365,
  );
  const inYear = inEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const fromMarch = Math.floor((5 * inYear + 2) / 153);
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const inMonth = inYear - Math.floor((153 * fromMarch + 2) / 5) + 1;
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(inMonth, 2)}`;
}

const pad = (value: number, width: number) => String(value).padStart(width, '0');

function buildTable(zone: string, startMs: number): readonly Change[] {
  const format = formatOf(zone);
  const changes: Change[] = [{ fromMs: startMs, offsetMs: askOffset(format, startMs) }];
  let current = changes[0]?.offsetMs ?? 0;
  for (let probe = startMs; probe < startMs + spanMs; probe += probeMs) {
    const next = askOffset(format, probe + probeMs);
    if (next === current) continue;
    changes.push({ fromMs: changeBetween(format, probe, probe + probeMs), offsetMs: next });
    current = next;
  }
  return changes;
}

/** Clocks change on whole minutes. */
function changeBetween(format: Intl.DateTimeFormat, beforeMs: number, afterMs: number): number {
  const old = askOffset(format, beforeMs);
  let [low, high] = [Math.floor(beforeMs / minuteMs), Math.floor(afterMs / minuteMs)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (askOffset(format, middle * minuteMs) === old) low = middle;
    else high = middle;
  }
  return high * minuteMs;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(zone, format);
  return format;
}

function askOffset(format: Intl.DateTimeFormat, atMs: number): number {
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(atMs)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1000) * 1000;
}

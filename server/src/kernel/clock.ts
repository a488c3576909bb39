/** The only door to the machine's time: everything else receives a Clock, so that tests can hold it still. */
export interface Clock {
  now(): Date;
  millis(): number;
  /** For intervals and deadlines: never steps back, has no relation to wall time. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  millis: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** More than the usual noise of timers. */
export const lateMs = 250;

/** Whether the process did, by a timer that is late: all are due then, before it has read what came meanwhile. */
export const hasStoodStill = (dueMs: number, nowMs: number): boolean => nowMs - dueMs > lateMs;

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * RFC 3339 with a mandatory offset; digits beyond milliseconds are cut. Leap seconds (`:60`) are refused because
 * neither Date nor PostgreSQL can represent them, and so are instants whose UTC year is not 0001–9999.
 */
export function parseInstant(text: string): Date | null {
  const match = RFC_3339.exec(text);
  if (match === null) return null;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  const [offsetHour, offsetMinute] = [part(9), part(10)];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return null;

  const millisecond = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  const offsetMinutes = (match[8] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  const date = new Date(0);
  // Date.UTC would read the years 0–99 as 1900–1999.
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute - offsetMinutes, second, millisecond);
  return hasWritableYear(date) ? date : null;
}

/** UTC, `Z`, always three fraction digits. */
export function toRfc3339(date: Date): string {
  if (!hasWritableYear(date)) throw new RangeError('instant cannot be written as RFC 3339');
  return date.toISOString();
}

function hasWritableYear(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function isLeapYear(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

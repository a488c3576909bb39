import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant, systemClock, toRfc3339 } from './clock.ts';

const writableDate = fc.date({
  min: new Date('0001-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});

describe('parseInstant', () => {
  it.each([
    ['2024-02-29T12:00:00Z', '2024-02-29T12:00:00.000Z'],
    ['2024-02-29t12:00:00z', '2024-02-29T12:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['2024-01-01T00:30:00+01:00', '2023-12-31T23:30:00.000Z'],
    ['2024-12-31T20:00:00-05:45', '2025-01-01T01:45:00.000Z'],
    ['2024-01-01T00:00:00-00:00', '2024-01-01T00:00:00.000Z'],
    ['2024-01-01T00:00:00.5Z', '2024-01-01T00:00:00.500Z'],
    ['2024-01-01T00:00:00.123456789Z', '2024-01-01T00:00:00.123Z'],
    ['0050-06-01T00:00:00Z', '0050-06-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('reads %s as %s', (text, expected) => {
    expect(parseInstant(text)?.toISOString()).toBe(expected);
  });

  it.each([
    ['no offset', '2024-01-01T00:00:00'],
    ['date only', '2024-01-01'],
    ['a space instead of T', '2024-01-01 00:00:00Z'],
    ['surrounding space', ' 2024-01-01T00:00:00Z'],
    ['a trailing line break', '2024-01-01T00:00:00Z\n'],
    ['no seconds', '2024-01-01T00:00Z'],
    ['an offset without colon', '2024-01-01T00:00:00+0100'],
    ['an empty fraction', '2024-01-01T00:00:00.Z'],
    ['month 0', '2024-00-10T00:00:00Z'],
    ['month 13', '2024-13-10T00:00:00Z'],
    ['day 0', '2024-01-00T00:00:00Z'],
    ['30 February', '2024-02-30T00:00:00Z'],
    ['29 February of a common year', '2023-02-29T00:00:00Z'],
    ['29 February of a common century', '1900-02-29T00:00:00Z'],
    ['31 April', '2024-04-31T00:00:00Z'],
    ['hour 24', '2024-01-01T24:00:00Z'],
    ['minute 60', '2024-01-01T00:60:00Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['offset hour 24', '2024-01-01T00:00:00+24:00'],
    ['offset minute 60', '2024-01-01T00:00:00+01:60'],
    ['year 0', '0000-06-01T00:00:00Z'],
    ['an offset that leads to year 0', '0001-01-01T00:00:00+01:00'],
    ['an offset that leads past 9999', '9999-12-31T23:59:59-01:00'],
    ['an expanded year', '+010000-01-01T00:00:00Z'],
    ['digits that are not ASCII', '２024-01-01T00:00:00Z'],
    ['nothing', ''],
  ])('refuses %s', (_name, text) => {
    expect(parseInstant(text)).toBeNull();
  });

  it('reads back whatever toRfc3339 writes', () => {
    fc.assert(
      fc.property(writableDate, (date) => {
        const text = toRfc3339(date);
        expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        expect(parseInstant(text)).toEqual(date);
      }),
    );
  });

  it('gives the same instant for every offset it is written with', () => {
    const offset = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), offset, (millis, minutes) => {
        const local = new Date(millis + minutes * 60_000).toISOString().slice(0, -1);
        const [hour, minute] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
        const sign = minutes < 0 ? '-' : '+';
        const text = `${local}${sign}${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
        expect(parseInstant(text)?.getTime()).toBe(millis);
      }),
    );
  });

  it('accepts exactly the calendar days that exist', () => {
    for (let year = 1899; year <= 2001; year += 1) {
      for (let month = 0; month <= 13; month += 1) {
        for (let day = 0; day <= 32; day += 1) {
          const [mm, dd] = [String(month).padStart(2, '0'), String(day).padStart(2, '0')];
          const date = new Date(Date.UTC(year, month - 1, day));
          const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
          expect(parseInstant(`${year}-${mm}-${dd}T00:00:00Z`) !== null).toBe(exists);
        }
      }
    }
  });
});

describe('toRfc3339', () => {
  it.each([new Date(Number.NaN), new Date('+010000-01-01T00:00:00Z'), new Date('-000001-01-01T00:00:00Z')])(
    'throws for %s instead of writing something else',
    (date) => {
      expect(() => toRfc3339(date)).toThrow(RangeError);
    },
  );
});

describe('systemClock', () => {
  it('shows one time through now and millis', () => {
    const before = systemClock.millis();
    const now = systemClock.now().getTime();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(systemClock.millis()).toBeGreaterThanOrEqual(now);
  });

  it('has a monotonic reading that never falls', () => {
    const readings = Array.from({ length: 1000 }, () => systemClock.monotonicMs());
    expect(readings).toEqual([...readings].sort((a, b) => a - b));
  });
});

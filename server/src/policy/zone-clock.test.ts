import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { dateOfDay, dayOfDate, isTimeZone, localTime, offsetMs } from './zone-clock.ts';

const dayMs = 86_400_000;
const zones = Intl.supportedValuesOf('timeZone');

function expected(zone: string, atMs: number) {
  const there = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone);
  return {
    day: dayOfDate(there.toPlainDate().toString()),
    minute: there.hour * 60 + there.minute,
    weekday: there.dayOfWeek % 7,
  };
}

describe('wall time by table', () => {
  it('agrees with Temporal in every zone, at and around each change of the clocks', () => {
    const from = Date.parse('2024-12-01T00:00:00Z');
    const wrong: string[] = [];
    for (const zone of zones) {
      let at = Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(zone);
      for (let n = 0; n < 5; n += 1) {
        const next = at.getTimeZoneTransition('next');
        if (next === null || next.epochMilliseconds > from + 1500 * dayMs) break;
        at = next;
        for (const shift of [-60_000, -1, 0, 1, 60_000, 3_600_000]) {
          const moment = at.epochMilliseconds + shift;
          if (JSON.stringify(localTime(zone, moment)) !== JSON.stringify(expected(zone, moment)))
            wrong.push(`${zone} ${moment}`);
        }
      }
    }
    expect(zones.length).toBeGreaterThan(400);
    expect(wrong).toEqual([]);
  });

  it('agrees with Temporal at moments spread over 40 years', () => {
    const wrong: string[] = [];
    for (const [index, zone] of zones.entries()) {
      for (let n = 0; n < 3; n += 1) {
        const moment =
          Date.parse('1999-01-01T00:00:00Z') +
          ((index * 7919 + n * 104_729) % 14_600) * dayMs +
          n * 5_000_001;
        if (JSON.stringify(localTime(zone, moment)) !== JSON.stringify(expected(zone, moment)))
          wrong.push(`${zone} ${moment}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('counts days forth and back, through leap years', () => {
    for (let day = -25_000; day < 60_000; day += 1) expect(dayOfDate(dateOfDay(day))).toBe(day);
    expect(dateOfDay(dayOfDate('2024-02-29'))).toBe('2024-02-29');
  });

  it('knows which zones there are', () => {
    expect(isTimeZone('Europe/Berlin')).toBe(true);
    expect(isTimeZone('Europe/Atlantis')).toBe(false);
    expect(isTimeZone('+05:30')).toBe(false);
    expect(offsetMs('Asia/Kathmandu', 0)).toBe(5.5 * 3_600_000);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HoldReach, reaches, spanOf, windowAt } from './hold-rules.ts';
import { localTime } from './zone-clock.ts';

const at = (instant: string, zone: string, recurrence: { days: number[]; start: string; end: string }) => {
  const ms = Date.parse(instant);
  return windowAt(spanOf({ until: null, recurrence }), ms, () => localTime(zone, ms));
};

const time = (minute: number) =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

describe('windows of holds', () => {
  it('are in local time, begin on their day, and do not include their end', () => {
    const workdays = { days: [1, 2, 3, 4, 5], start: '08:00', end: '18:00' };
    // Monday in Berlin, summer time.
    expect(at('2026-06-01T05:59:59Z', 'Europe/Berlin', workdays)).toBeNull();
    expect(at('2026-06-01T06:00:00Z', 'Europe/Berlin', workdays)).not.toBeNull();
    expect(at('2026-06-01T15:59:59Z', 'Europe/Berlin', workdays)).not.toBeNull();
    expect(at('2026-06-01T16:00:00Z', 'Europe/Berlin', workdays)).toBeNull();
    // Sunday there, still Saturday in UTC.
    expect(at('2026-05-31T10:00:00Z', 'Europe/Berlin', workdays)).toBeNull();
  });

  it('past midnight still belong to the day they began on', () => {
    const fridays = { days: [5], start: '22:00', end: '02:00' };
    const friday = at('2026-06-05T23:00:00Z', 'UTC', fridays);
    expect(friday).not.toBeNull();
    expect(at('2026-06-06T01:59:00Z', 'UTC', fridays)).toBe(friday);
    expect(at('2026-06-06T02:00:00Z', 'UTC', fridays)).toBeNull();
    expect(at('2026-06-05T01:00:00Z', 'UTC', fridays)).toBeNull();
    const sundays = { days: [7], start: '22:00', end: '02:00' };
    expect(at('2026-06-08T01:00:00Z', 'UTC', sundays)).not.toBeNull();
  });

  it('say the same as walking through the week minute by minute', () => {
    const minutes = fc.integer({ min: 0, max: 1439 });
    const week = fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 });
    fc.assert(
      fc.property(week, minutes, minutes, fc.integer({ min: 0, max: 10_079 }), (days, start, end, asked) => {
        fc.pre(start !== end);
        // Monday, 2026-06-01; the week before and this one.
        const inside = new Set<number>();
        for (const day of [-1, 0, 1, 2, 3, 4, 5, 6]) {
          if (!days.includes(((day + 7) % 7) + 1)) continue;
          const last = start < end ? end : end + 1440;
          for (let minute = start; minute < last; minute += 1) inside.add(day * 1440 + minute);
        }
        const ms = Date.parse('2026-06-01T00:00:00Z') + asked * 60_000;
        const recurrence = { days, start: time(start), end: time(end) };
        const window = windowAt(spanOf({ until: null, recurrence }), ms, () => localTime('UTC', ms));
        expect(window !== null).toBe(inside.has(asked));
      }),
      { numRuns: 500 },
    );
  });

  it('end with the moment they are set until', () => {
    const until = new Date('2026-06-01T12:00:00Z');
    const span = spanOf({ until });
    const local = () => localTime('UTC', 0);
    expect(windowAt(span, until.getTime() - 1, local)).toBe(0);
    expect(windowAt(span, until.getTime(), local)).toBeNull();
  });

  it.each<[string, HoldReach, string, boolean]>([
    ['its entity', { entityId: 'e', includeLights: false }, 'door', true],
    ['another entity not', { entityId: 'x', includeLights: false }, 'door', false],
    ['all doors of a device', { entityId: null, includeLights: false }, 'door', true],
    ['no light', { entityId: null, includeLights: false }, 'light', false],
    ['a light when asked', { entityId: 'x', includeLights: true }, 'light', true],
    ['a light that it was set on', { entityId: 'e', includeLights: false }, 'light', true],
  ])('reach %s', (_name, reach, entityType, expected) => {
    expect(reaches(reach, { entityId: 'e', entityType })).toBe(expected);
  });
});

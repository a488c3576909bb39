import { describe, expect, it } from 'vitest';
import { AppError } from './app-error.ts';
import { earlierExpiry, expiryOf, requiredExpiry } from './expiry.ts';

const now = new Date('2026-07-31T12:00:00.000Z');
const refusedAt = (work: () => unknown): string | undefined => {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError && error.code === 'validation_error') return error.details?.[0]?.path;
    throw error;
  }
  return undefined;
};

describe('expiry', () => {
  it.each([
    [{ expires_at: '2026-08-01T14:00:00+02:00' }, '2026-08-01T12:00:00.000Z'],
    [{ expires_in: 'P1DT1S' }, '2026-08-01T12:00:01.000Z'],
    [{ expires_in: '90s', expires_at: null }, '2026-07-31T12:01:30.000Z'],
    [{ expires_at: '2026-07-31T12:00:00.001Z', expires_in: null }, '2026-07-31T12:00:00.001Z'],
    [{ expires_in: '3650d' }, '2036-07-28T12:00:00.000Z'],
  ])('%j → %s', (input, instant) => {
    expect(expiryOf(input, now)?.toISOString()).toBe(instant);
  });

  it.each([
    [{ expires_at: '2026-08-01T00:00:00Z', expires_in: '1d' }, '/expires_in'],
    [{ expires_at: '2026-07-31T12:00:00.000Z' }, '/expires_at'],
    [{ expires_at: '2026-08-01' }, '/expires_at'],
    [{ expires_at: '2036-07-28T12:00:00.001Z' }, '/expires_at'],
    [{ expires_in: '0s' }, '/expires_in'],
    [{ expires_in: '3651d' }, '/expires_in'],
  ])('%j is refused at %s', (input, path) => {
    expect(refusedAt(() => expiryOf(input, now))).toBe(path);
  });

  it('is null when nothing is given, unless it is required', () => {
    expect(expiryOf({ expires_at: null, expires_in: null }, now)).toBeNull();
    expect(refusedAt(() => requiredExpiry({}, now))).toBe('/expires_at');
  });

  it('is the earlier of two', () => {
    const later = new Date(now.getTime() + 1);
    expect(earlierExpiry(later, now)).toBe(now);
    expect(earlierExpiry(now, later)).toBe(now);
    expect(earlierExpiry(later, null)).toBe(later);
  });
});

import { describe, expect, it } from 'vitest';
import { AppError } from '../../kernel/app-error.ts';
import { auditRange, hotWindowMs, type RangeInput } from './audit-log.rules.ts';

const now = new Date('2026-07-31T12:00:00.000Z');
const ago = (ms: number) => new Date(now.getTime() - ms).toISOString();
const hour = 3_600_000;

const codeOf = (input: RangeInput, walkStartedAt: number | null = null): string => {
  try {
    auditRange(input, now, walkStartedAt);
    return 'ok';
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
};

describe('range of the audit list', () => {
  it('is the last 30 days without bounds', () => {
    expect(auditRange({}, now, null)).toEqual({ from: new Date(ago(hotWindowMs)), until: null });
  });

  it('takes both bounds as inclusive: the whole millisecond that is named', () => {
    const range = auditRange({ occurred_after: ago(hour), occurred_before: ago(0) }, now, null);
    expect(range.from.toISOString()).toBe(ago(hour));
    expect(range.until?.toISOString()).toBe('2026-07-31T12:00:00.001Z');
  });

  it.each([
    [{ occurred_after: ago(hotWindowMs) }, 'ok'],
    [{ occurred_after: ago(hotWindowMs + 1) }, 'audit_range_exceeds_hot_window'],
    [{ occurred_before: ago(hotWindowMs + 1) }, 'audit_range_exceeds_hot_window'],
    [{ occurred_before: ago(hotWindowMs) }, 'ok'],
    [{ occurred_before: ago(-hour) }, 'ok'],
    [{ occurred_after: '2026-07-31T14:00:00+02:00' }, 'ok'],
    [{ occurred_after: '2026-07-31' }, 'validation_error'],
    [{ occurred_after: '2026-07-31T12:00:00' }, 'validation_error'],
    [{ occurred_before: 'yesterday' }, 'validation_error'],
    [{ occurred_after: '' }, 'validation_error'],
  ])('%j → %s', (input, code) => {
    expect(codeOf(input)).toBe(code);
  });

  it('stays where a walk began, for an hour and no longer', () => {
    const input = { occurred_after: ago(hotWindowMs + hour / 2) };
    expect(codeOf(input)).toBe('audit_range_exceeds_hot_window');
    expect(codeOf(input, now.getTime() - hour / 2)).toBe('ok');
    expect(auditRange({}, now, now.getTime() - hour / 2).from.toISOString()).toBe(
      ago(hotWindowMs + hour / 2),
    );
    expect(auditRange({}, now, 0).from.toISOString()).toBe(ago(hotWindowMs + hour));
    expect(auditRange({}, now, now.getTime() + hour).from.toISOString()).toBe(ago(hotWindowMs));
  });
});

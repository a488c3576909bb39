import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EffectiveLimit } from './quota.store.ts';
import { delayMs, longestMs, shortestMs, slowdownOf } from './slowdown.rules.ts';

const amount = fc.integer({ min: 0, max: 1_000_000 });

describe('the wait of a use', () => {
  it('is none up to the limit, and from one second to five above it', () => {
    fc.assert(
      fc.property(amount, amount, (current, limit) => {
        const wait = delayMs(current, limit);
        if (current <= limit) return wait === 0;
        return Number.isInteger(wait) && wait >= shortestMs && wait <= longestMs;
      }),
    );
  });

  it('never gets shorter with more use, nor longer with a higher limit', () => {
    fc.assert(
      fc.property(amount, amount, amount, (current, limit, more) => {
        expect(delayMs(current + more, limit)).toBeGreaterThanOrEqual(delayMs(current, limit));
        expect(delayMs(current, limit + more)).toBeLessThanOrEqual(delayMs(current, limit));
      }),
    );
  });

  it('begins at one second and is at its longest at twice the limit', () => {
    expect([delayMs(100, 100), delayMs(101, 100), delayMs(151, 100)]).toEqual([0, 1_000, 3_000]);
    expect([delayMs(201, 100), delayMs(5_000, 100), delayMs(1, 0), delayMs(2, 0)]).toEqual([
      5_000, 5_000, 1_000, 5_000,
    ]);
  });

  it('is the longest that any of the limits asks for, and unlimited keys ask for nothing', () => {
    const limits = (['day', 'month'] as const).map(
      (period): EffectiveLimit => ({
        key: 'door_opens',
        period,
        value: period === 'day' ? 10 : null,
        source: 'default',
        ref: null,
        expiresAt: null,
      }),
    );
    expect(slowdownOf(limits, () => 10)).toBeNull();
    expect(slowdownOf(limits, () => 11)).toEqual({
      key: 'door_opens',
      period: 'day',
      current: 11,
      limit: 10,
      delayMs: 1_000,
    });
    const both = limits.map((limit) => ({ ...limit, value: limit.period === 'day' ? 10 : 5 }));
    expect(slowdownOf(both, () => 11)?.period).toBe('month');
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

describe('the back-off', () => {
  it('grows from the first wait to the cap, never below and at most half above', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (failures) => {
        const wait = backoffMs(failures, 3_000, 60_000);
        const whole = Math.min(60_000, 3_000 * 2 ** (failures - 1));
        expect(wait).toBeGreaterThanOrEqual(whole);
        expect(wait).toBeLessThanOrEqual(whole * 1.5);
      }),
    );
  });

  it('differs from one link to the next', () => {
    const waits = new Set(Array.from({ length: 50 }, () => backoffMs(1, 3_000, 60_000)));
    expect(waits.size).toBeGreaterThan(10);
  });
});

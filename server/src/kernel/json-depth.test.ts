import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exceedsDepth } from './json-depth.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Strings made of the characters that could fool the scan, also as keys. */
const trickyText = fc.string({
  unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', 'u', ',', ':', 'é', '🚪'),
});
const trickyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.oneof(trickyText, fc.integer(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(trickyText, tie('value'), { maxKeys: 3 }),
  ),
})).value;

describe('exceedsDepth', () => {
  it.each([
    ['1', 0, false],
    ['"[[[["', 0, false],
    ['[]', 0, true],
    ['[]', 1, false],
    ['{}', 0, true],
    ['{}', 1, false],
    ['[[]]', 1, true],
    ['[[]]', 2, false],
    ['[{"a":[]}]', 2, true],
    ['[{"a":[]}]', 3, false],
    ['[[],[],[],[]]', 2, false],
    ['{"[[[[":"]]]]"}', 1, false],
    [String.raw`["\"[[[["]`, 1, false],
    [String.raw`["\\",[[]]]`, 2, true],
    [String.raw`["\\\"[[["]`, 1, false],
    [String.raw`["\u005b\u0022[["]`, 1, false],
    ['', 0, false],
  ])('answers for %s and maximum %d: %s', (text, max, expected) => {
    expect(exceedsDepth(text, max)).toBe(expected);
  });

  it('equals a naive computation over the parsed value, however the text is spaced', () => {
    const json = fc.oneof(trickyJson, fc.jsonValue({ stringUnit: 'binary' }));
    fc.assert(
      fc.property(json, fc.nat(8), fc.nat(3), (value, max, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(exceedsDepth(text, max)).toBe(depthOf(JSON.parse(text)) > max);
      }),
      { numRuns: 1000 },
    );
  });

  it('draws the line exactly at the maximum', () => {
    fc.assert(
      fc.property(trickyJson, (value) => {
        const text = JSON.stringify(value);
        const depth = depthOf(value);
        expect(exceedsDepth(text, depth)).toBe(false);
        if (depth > 0) expect(exceedsDepth(text, depth - 1)).toBe(true);
      }),
    );
  });

  it('refuses 10^5 levels without recursion, closed or not', () => {
    const open = '['.repeat(100_000);
    expect(exceedsDepth(open + ']'.repeat(100_000), 32)).toBe(true);
    expect(exceedsDepth(open, 32)).toBe(true);
    expect(exceedsDepth('{"a":'.repeat(100_000), 32)).toBe(true);
    expect(exceedsDepth(open + ']'.repeat(100_000), 100_000)).toBe(false);
  });

  it.each(['"[[[[', '["\\', '"abc\\"[[[['])('ends on the unterminated string %j', (text) => {
    expect(exceedsDepth(text, 1)).toBe(false);
  });
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { exactText, parseExact } from './exact-json.ts';

it('reads and writes integers of any size with all their digits, and all else as JSON does', () => {
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.bigInt().map(String),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
      fc.string().map((value) => JSON.stringify(value)),
      fc.constantFrom('null', 'true', 'false'),
      fc.array(tie('value')).map((items) => `[${items.join(',')}]`),
      fc
        .uniqueArray(fc.tuple(fc.string(), tie('value')), { selector: ([key]) => `k${key}` })
        .map(
          (members) =>
            `{${members.map(([key, value]) => `${JSON.stringify(`k${key}`)}:${value}`).join(',')}}`,
        ),
    ),
  })).value as fc.Arbitrary<string>;
  fc.assert(
    fc.property(json, (text) => {
      expect(exactText(parseExact(text))).toBe(text);
    }),
  );
});

it('gives a bigint for what a number can not hold, and only for that', () => {
  expect(parseExact('[9007199254740991, 9007199254740993, -9223372036854775808, 1.5, 1e300]')).toEqual([
    9007199254740991,
    9007199254740993n,
    -9223372036854775808n,
    1.5,
    1e300,
  ]);
});

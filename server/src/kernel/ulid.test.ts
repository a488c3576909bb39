import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createUlidFactory, isUlid, ulid, ulidTime } from './ulid.ts';

const MAX_TIME = 2 ** 48 - 1;
const filledWith = (byte: number) => (size: number) => new Uint8Array(size).fill(byte);
const stoppedAt = (millis: number) => () => millis;

function fromReadings(readings: readonly number[], bytes: (size: number) => Uint8Array): string[] {
  let index = 0;
  const next = createUlidFactory({ now: () => readings[index++] ?? 0, randomBytes: bytes });
  return readings.map(() => next());
}

function expectStrictlyIncreasing(ids: readonly string[]): void {
  for (let index = 1; index < ids.length; index += 1) {
    expect((ids[index] ?? '') > (ids[index - 1] ?? '')).toBe(true);
  }
}

describe('createUlidFactory', () => {
  it.each([
    [0, 0x00, '00000000000000000000000000'],
    [1469918176385, 0x00, '01ARYZ6S410000000000000000'],
    [MAX_TIME, 0xff, '7ZZZZZZZZZZZZZZZZZZZZZZZZZ'],
    [1, 0x01, '00000000012081208120812081'],
  ])('writes time %d and random bytes %d as %s', (millis, byte, expected) => {
    expect(createUlidFactory({ now: stoppedAt(millis), randomBytes: filledWith(byte) })()).toBe(expected);
  });

  it('counts up by one within a millisecond', () => {
    const next = createUlidFactory({ now: stoppedAt(7), randomBytes: filledWith(0) });
    expect([next(), next(), next()].map((id) => id.slice(10))).toEqual([
      '0000000000000000',
      '0000000000000001',
      '0000000000000002',
    ]);
  });

  it('carries over every limb of the random part', () => {
    const lowLimbsFull = (size: number) => new Uint8Array(size).fill(0xff).fill(0, 0, 3);
    const next = createUlidFactory({ now: stoppedAt(7), randomBytes: lowLimbsFull });
    expect(next().slice(10)).toBe('0000ZZZZZZZZZZZZ');
    expect(next().slice(10)).toBe('0001000000000000');
  });

  it('borrows the next millisecond when the random part is full, and stays ordered when the clock gets there', () => {
    const ids = fromReadings([7, 7, 7, 8, 9, 10, 11], filledWith(0xff));
    expectStrictlyIncreasing(ids);
    expect(ids.map(ulidTime)).toEqual([7, 8, 9, 10, 11, 12, 13]);
  });

  it('throws when the last millisecond is full instead of wrapping around', () => {
    const next = createUlidFactory({ now: stoppedAt(MAX_TIME), randomBytes: filledWith(0xff) });
    next();
    expect(() => next()).toThrow(RangeError);
  });

  it.each([Number.NaN, -1, 0.5, MAX_TIME + 1, Number.POSITIVE_INFINITY])('refuses the time %d', (millis) => {
    expect(() => createUlidFactory({ now: stoppedAt(millis), randomBytes })()).toThrow(RangeError);
  });

  it('is strictly ordered whatever the clock and the random source do', () => {
    const reading = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 2 ** 47 }));
    const bytes = fc.constantFrom<(size: number) => Uint8Array>(
      randomBytes,
      filledWith(0xff),
      filledWith(0xfe),
      filledWith(0),
    );
    fc.assert(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 200 }), bytes, (readings, source) => {
        const ids = fromReadings(readings, source);
        expectStrictlyIncreasing(ids);
        expect(ids.every(isUlid)).toBe(true);
        ids.forEach((id, index) => {
          expect(ulidTime(id)).toBeGreaterThanOrEqual(readings[index] ?? 0);
        });
      }),
    );
  });

  it('keeps the newest time while the clock has stepped back, and follows it again afterwards', () => {
    const ids = fromReadings([1000, 400, 401, 999, 1001], randomBytes);
    expectStrictlyIncreasing(ids);
    expect(ids.map(ulidTime)).toEqual([1000, 1000, 1000, 1000, 1001]);
  });

  it('takes new randomness for each new millisecond', () => {
    const ids = fromReadings(
      Array.from({ length: 5000 }, (_, index) => index),
      randomBytes,
    );
    expect(new Set(ids.map((id) => id.slice(10))).size).toBe(5000);
    for (let position = 10; position < 26; position += 1) {
      expect(new Set(ids.map((id) => id[position])).size).toBe(32);
    }
  });

  it('asks the random source rarely, so that a fresh id does not cost a system call', () => {
    let calls = 0;
    const counted = (size: number) => {
      calls += 1;
      return randomBytes(size);
    };
    fromReadings(
      Array.from({ length: 2560 }, (_, index) => index),
      counted,
    );
    expect(calls).toBe(10);
  });
});

describe('ulid', () => {
  it('gives unique ordered ids over many milliseconds', () => {
    const ids = Array.from({ length: 50_000 }, () => ulid());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual([...ids].sort());
    expect(ids.every(isUlid)).toBe(true);
  });
});

describe('isUlid', () => {
  it.each(['01ARYZ6S410000000000000000', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', '0123456789ABCDEFGHJKMNPQRS'])(
    'accepts %s',
    (text) => {
      expect(isUlid(text)).toBe(true);
    },
  );

  it.each([
    ['lower case', '01aryz6s410000000000000000'],
    ['a first character above 7', '80000000000000000000000000'],
    ['25 characters', '0000000000000000000000000'],
    ['27 characters', '000000000000000000000000000'],
    ['a trailing line break', '00000000000000000000000000\n'],
    ['I', '0000000000000000000000000I'],
    ['L', '0000000000000000000000000L'],
    ['O', '0000000000000000000000000O'],
    ['U', '0000000000000000000000000U'],
    ['a hyphen', '0000000000000-000000000000'],
    ['nothing', ''],
    ['null', null],
    ['a number', 1],
    ['an array that prints as a ULID', ['01ARYZ6S410000000000000000']],
  ])('refuses %s', (_name, value) => {
    expect(isUlid(value)).toBe(false);
  });
});

describe('ulidTime', () => {
  it('gives back the time of every id', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_TIME }), (millis) => {
        expect(ulidTime(createUlidFactory({ now: stoppedAt(millis), randomBytes })())).toBe(millis);
      }),
    );
  });

  it('throws for what is not a ULID', () => {
    expect(() => ulidTime('nonsense')).toThrow(TypeError);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hmacSha256, Secret } from '../../kernel/secret.ts';
import { createUlidFactory } from '../../kernel/ulid.ts';
import { type CursorPosition, type CursorSign, decodeCursor, encodeCursor } from './audit-cursor.rules.ts';

const signFor =
  (orgId: string): CursorSign =>
  (text) =>
    hmacSha256(new Secret('pepper'), `${orgId} ${text}`);
const sign = signFor('A');

const ulids = fc
  .tuple(fc.nat({ max: 2 ** 32 }), fc.uint8Array({ minLength: 12, maxLength: 12 }))
  .map(([time, bytes]) => createUlidFactory({ now: () => time, randomBytes: () => bytes })());
const instants = fc
  .tuple(
    fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
    fc.nat({ max: 999 }),
  )
  .map(([date, micros]) => date.toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`));
const positions: fc.Arbitrary<CursorPosition> = fc.record({
  occurredAt: instants,
  id: ulids,
  walkStartedAt: fc.nat({ max: 8_640_000_000_000_000 }),
});

describe('audit cursor', () => {
  it('gives back what went in, to the microsecond', () => {
    fc.assert(
      fc.property(positions, (position) => {
        const cursor = encodeCursor(position, sign);
        expect(cursor).toMatch(/^[\w-]{1,512}$/);
        expect(decodeCursor(cursor, sign)).toEqual(position);
      }),
    );
  });

  it('is refused with any one character changed, added or taken away', () => {
    const characters = fc.constantFrom(...'ABCXYZabcxyz0189-_=+/. ');
    fc.assert(
      fc.property(positions, fc.nat(), characters, (position, seed, character) => {
        const cursor = encodeCursor(position, sign);
        const at = seed % cursor.length;
        const spoilt = [
          cursor.slice(0, at) + character + cursor.slice(at + 1),
          cursor.slice(0, at) + character + cursor.slice(at),
          cursor.slice(0, at) + cursor.slice(at + 1),
        ].filter((text) => text !== cursor);
        for (const text of spoilt) expect(decodeCursor(text, sign)).toBeNull();
      }),
    );
  });

  it('holds for the organization it was made for only', () => {
    fc.assert(
      fc.property(positions, (position) => {
        expect(decodeCursor(encodeCursor(position, sign), signFor('B'))).toBeNull();
      }),
    );
  });

  it('is null for any text that nobody signed, and never an exception', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ maxLength: 120 }), fc.base64String({ maxLength: 160 })), (text) => {
        expect(decodeCursor(text, sign)).toBeNull();
      }),
    );
  });

  it('does not take signed nonsense', () => {
    for (const payload of ['', 'x', '2026-01-01T00:00:00.000000Z no-ulid 1', '2026-01-01 1 1']) {
      const forged = Buffer.concat([sign(payload).subarray(0, 16), Buffer.from(payload)]);
      expect(decodeCursor(forged.toString('base64url'), sign)).toBeNull();
    }
  });
});

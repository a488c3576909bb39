import { format, inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { equalInConstantTime, generateToken, hmacSha256, Secret, sha256 } from './secret.ts';

const hidden = new Secret('hunter2');

describe('Secret', () => {
  it('gives its value only through reveal', () => {
    expect(hidden.reveal()).toBe('hunter2');
  });

  it.each([
    ['String', String(hidden)],
    ['a template', `${hidden}`],
    ['concatenation', 'x'.concat(hidden as unknown as string)],
    ['JSON', JSON.stringify({ deep: [hidden] })],
    ['inspect', inspect({ deep: [hidden] }, { showHidden: true, depth: 9 })],
    ['format %s', format('%s', hidden)],
    ['format %o', format('%o', hidden)],
    ['format %j', format('%j', hidden)],
    ['an error message', new Error(`bad ${hidden}`).message],
  ])('shows [redacted] through %s', (_name, shown) => {
    expect(shown).toContain('[redacted]');
    expect(shown).not.toContain('hunter2');
  });

  it('has no enumerable or own property that holds the value', () => {
    expect(Reflect.ownKeys(hidden)).toEqual([]);
    expect(JSON.stringify({ ...hidden })).toBe('{}');
    expect(inspect(structuredClone(hidden))).not.toContain('hunter2');
  });
});

describe('generateToken', () => {
  it('gives 32 random bytes as 43 characters of unpadded base64url', () => {
    const tokens = Array.from({ length: 1000 }, () => generateToken());
    for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(new Set(tokens).size).toBe(1000);
    expect(Buffer.from(tokens[0] ?? '', 'base64url').length).toBe(32);
  });

  it('gives as many bytes as asked for', () => {
    expect(Buffer.from(generateToken(16), 'base64url').length).toBe(16);
  });
});

describe('hmacSha256', () => {
  it('matches test case 2 of RFC 4231', () => {
    expect(hmacSha256(new Secret('Jefe'), 'what do ya want for nothing?').toString('hex')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  it('depends on the pepper', () => {
    expect(hmacSha256(new Secret('a'), 'text')).not.toEqual(hmacSha256(new Secret('b'), 'text'));
  });
});

describe('sha256', () => {
  it('hashes a text and its UTF-8 bytes alike', () => {
    expect(sha256('abc').toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
    expect(sha256(Buffer.from('zoë'))).toEqual(sha256('zoë'));
  });
});

describe('equalInConstantTime', () => {
  it('agrees with Buffer.equals for any two buffers', () => {
    const bytes = fc.uint8Array({ maxLength: 4, max: 2 }).map((array) => Buffer.from(array));
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(equalInConstantTime(a, b)).toBe(a.equals(b));
        expect(equalInConstantTime(a, Buffer.from(a))).toBe(true);
      }),
    );
  });
});

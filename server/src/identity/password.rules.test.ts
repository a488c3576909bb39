import { argon2Sync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgePassword } from './password.rules.ts';
import { createPasswordHasher } from './password-hash.ts';
import { formatPhc, parsePhc } from './phc.rules.ts';

describe('password policy', () => {
  const email = 'john.miller@lintel.test';

  it.each([
    ['sieben!', 'too_short'],
    ['🔑🔑🔑🔑', 'too_short'],
    ['x'.repeat(257), 'too_long'],
    ['john.miller@lintel.test', 'like_the_address'],
    ['John.Miller', 'like_the_address'],
    ['john.miller12', 'like_the_address'],
    ['miller@lintel', 'like_the_address'],
    ['password', 'too_common'],
    ['PassWord1', 'too_common'],
    ['aaaaaaaaaaaa', 'too_common'],
    ['abababab', 'too_common'],
  ])('%s is %s', (password, problem) => {
    expect(judgePassword(password, email)).toEqual({ ok: false, problem });
  });

  it.each(['correct horse', 'achtzehn', 'x'.repeat(253).concat('yz!'), 'пароль-длинный', 'jo hn mil ler'])(
    '%s is fine',
    (password) => {
      expect(judgePassword(password, email)).toEqual({ ok: true });
    },
  );

  it('does not take a short address for part of everything', () => {
    expect(judgePassword('a long secret', 'a@lintel.test')).toEqual({ ok: true });
  });
});

describe('PHC string', () => {
  it('comes back as it was written', () => {
    const bytes = (length: number) =>
      fc.uint8Array({ minLength: length, maxLength: length }).map((array) => Buffer.from(array));
    const cost = fc.record({
      memoryKib: fc.integer({ min: 8, max: 9_999_999 }),
      passes: fc.integer({ min: 1, max: 999 }),
      parallelism: fc.integer({ min: 1, max: 99 }),
    });
    fc.assert(
      fc.property(cost, bytes(16), bytes(32), (costs, salt, tag) => {
        expect(parsePhc(formatPhc({ cost: costs, salt, tag }))).toEqual({ cost: costs, salt, tag });
      }),
    );
  });

  it.each([
    '',
    'plain text',
    '$argon2i$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$dGFn',
    '$argon2id$v=16$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$dGFn',
    '$2b$12$abcdefghijklmnopqrstuv',
  ])('%j is not one', (text) => {
    expect(parsePhc(text)).toBeNull();
  });
});

describe('password hash', () => {
  const passwords = createPasswordHasher();

  it('is argon2id with 19 MiB, two passes and a salt of its own', async () => {
    const [first, second] = [await passwords.hash('secret'), await passwords.hash('secret')];
    expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(first).not.toBe(second);
    expect(await passwords.verify(first, 'secret')).toBe(true);
    expect(await passwords.verify(first, 'Secret')).toBe(false);
  });

  it('fits however the password was composed', async () => {
    const stored = await passwords.hash('Zoe\u0308 ﬁne');
    expect(await passwords.verify(stored, 'Zo\u00EB fine')).toBe(true);
  });

  it('fits nobody without a stored one', async () => {
    expect(await passwords.verify(null, '')).toBe(false);
  });

  it('is verified by the cost it was made with, not by today’s', async () => {
    const salt = Buffer.alloc(16, 7);
    const message = Buffer.from('old secret');
    const cost = { memoryKib: 64, passes: 1, parallelism: 1 };
    const tag = argon2Sync('argon2id', {
      ...{ message, nonce: salt, parallelism: 1, tagLength: 32, memory: 64, passes: 1 },
    });
    expect(await passwords.verify(formatPhc({ cost, salt, tag }), 'old secret')).toBe(true);
  });

  it('turns away a crowd instead of keeping it waiting', async () => {
    const crowd = Array.from({ length: 130 }, () => passwords.verify(null, 'secret'));
    const results = await Promise.allSettled(crowd);
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(30);
    expect(await passwords.verify(null, 'secret')).toBe(false);
  });
});

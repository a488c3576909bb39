import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clearingCookieLines, readCookies, setCookieLine } from './cookies.ts';
import { csrfCookieName, isCsrfTokenOf, maskCsrf, newCsrfSecret, parseCsrfCookie } from './csrf.rules.ts';
import { sameOriginTarget } from './return-to.rules.ts';

describe('return_to', () => {
  const home = 'https://lintel.test';

  it.each([
    ['/', 'https://lintel.test/'],
    ['/doors?x=1#top', 'https://lintel.test/doors?x=1#top'],
    ['https://lintel.test/a', 'https://lintel.test/a'],
    ['https://lintel.test:443/a', 'https://lintel.test/a'],
    ['a/../b', 'https://lintel.test/b'],
    ['', 'https://lintel.test/'],
    // Without slashes it is a path, and what is used afterwards is the normal form.
    ['https:evil.test@evil.test', 'https://lintel.test/evil.test@evil.test'],
  ])('%j stays on this service', (wanted, expected) => {
    expect(sameOriginTarget(wanted, home)).toBe(expected);
  });

  it.each([
    'https://evil.test/',
    '//evil.test',
    '/\\evil.test',
    '\\\\evil.test',
    '\t//evil.test',
    'https://lintel.test@evil.test/',
    'https://lintel.test.evil.test/',
    'https://user:secret@lintel.test/',
    'http://lintel.test/',
    'https://lintel.test:8443/',
    'javascript:alert(1)',
    'data:text/html,x',
    'http://',
  ])('%j is refused', (wanted) => {
    expect(sameOriginTarget(wanted, home)).toBeNull();
  });

  it('never leads anywhere else, whatever is asked for', () => {
    const hostile = fc.oneof(
      fc.webUrl(),
      fc.string({ unit: 'grapheme' }),
      fc
        .array(
          fc.constantFrom('/', '\\', 'https:', '@', '.', 'evil.test', 'lintel.test', '\t', '#', '?', ':'),
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(hostile, (wanted) => {
        const target = sameOriginTarget(wanted, home);
        if (target !== null) expect(target.startsWith(`${home}/`)).toBe(true);
      }),
    );
  });
});

describe('CSRF token', () => {
  it('names the cookie by the SHA-256 of the base address', () => {
    expect(csrfCookieName('http://localhost:4433/')).toBe(
      'csrf_token_82b119fa58a0a1cb6faa9738c1d0dbbf04fcc89a657b7beb31fcde400ced48ab',
    );
  });

  it('differs in every form and fits its own secret only', () => {
    const [mine, other] = [newCsrfSecret(), newCsrfSecret()];
    const tokens = [maskCsrf(mine), maskCsrf(mine)];
    expect(tokens[0]).not.toBe(tokens[1]);
    for (const token of tokens) {
      expect(isCsrfTokenOf(mine, token)).toBe(true);
      expect(isCsrfTokenOf(other, token)).toBe(false);
      expect(isCsrfTokenOf(mine, `AAAA${token}`)).toBe(false);
    }
  });

  it('is not anything else', () => {
    const secret = newCsrfSecret();
    fc.assert(fc.property(fc.anything(), (token) => !isCsrfTokenOf(secret, token)));
    expect(isCsrfTokenOf(secret, secret.toString('base64'))).toBe(false);
  });

  it('is read from a cookie in its one spelling', () => {
    const secret = newCsrfSecret();
    expect(parseCsrfCookie(secret.toString('base64url'))).toEqual(secret);
    for (const bad of [undefined, '', 'short', `${secret.toString('base64url')}=`, secret.toString('hex')]) {
      expect(parseCsrfCookie(bad)).toBeNull();
    }
  });
});

describe('cookies', () => {
  it.each([
    [null, []],
    ['', []],
    ['a=1', [['a', '1']]],
    [
      'a=1; b=x=y;c= 3 ',
      [
        ['a', '1'],
        ['b', 'x=y'],
        ['c', '3'],
      ],
    ],
    ['a=first; a=second', [['a', 'first']]],
    ['novalue; =nameless; bad name=1; a=1', [['a', '1']]],
  ] as [string | null, [string, string][]][])('%j is read', (header, expected) => {
    expect([...readCookies(header)]).toEqual(expected);
  });

  it('are set for scripts to not see, and Secure under https', () => {
    expect(setCookieLine('n', 'v', { https: true, maxAgeSeconds: 60 })).toBe(
      'n=v; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure',
    );
  });

  it('never put a line break or a second attribute into a header', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        for (const line of clearingCookieLines(header, false)) {
          expect(line).toMatch(/^[^\s;=,]+=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/);
        }
      }),
    );
  });

  it('are cleared whatever comes behind csrf_token_', () => {
    const lines = clearingCookieLines('csrf_token_a=1; my_csrf_token_b=2; csrf_token_=3', false);
    expect(lines.map((line) => line.split('=')[0])).toEqual([
      'ory_kratos_session',
      'csrf_token_a',
      'csrf_token_',
    ]);
  });
});

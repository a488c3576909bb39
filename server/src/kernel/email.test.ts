import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeEmail } from './email.ts';

const label63 = 'd'.repeat(63);

describe('normalizeEmail', () => {
  it.each([
    ['Ada@Example.COM', 'ada@example.com'],
    ['  ada@example.com\n', 'ada@example.com'],
    ["o'brien+door_1%x@sub.example.co.uk", "o'brien+door_1%x@sub.example.co.uk"],
    ['admin@localhost', 'admin@localhost'],
    ['01ARYZ6S41@phone.service.local', '01aryz6s41@phone.service.local'],
    ['JU\u0308RGEN@bu\u0308cher.example', 'j\u00fcrgen@b\u00fccher.example'],
    ['用户@例え.jp', '用户@例え.jp'],
    [`${'l'.repeat(64)}@example.com`, `${'l'.repeat(64)}@example.com`],
    [`a@${label63}.com`, `a@${label63}.com`],
  ])('writes %j as %j', (input, expected) => {
    expect(normalizeEmail(input)).toBe(expected);
  });

  it.each([
    ['nothing', ''],
    ['only @', '@'],
    ['no @', 'ada.example.com'],
    ['two @', 'ada@home@example.com'],
    ['no local part', '@example.com'],
    ['no domain', 'ada@'],
    ['a space', 'a da@example.com'],
    ['a space in the domain', 'ada@exam ple.com'],
    ['a no-break space', 'a\u00a0da@example.com'],
    ['NUL', 'ada\u0000@example.com'],
    ['a line break inside', 'ada@example.com\nbcc:x@y.z'],
    ['a bidi override', 'ada\u202e@example.com'],
    ['a zero-width space', 'ada\u200b@example.com'],
    ['a lone surrogate', 'ada\ud800@example.com'],
    ['a display name', 'Ada <ada@example.com>'],
    ['a list', 'ada@example.com,bob@example.com'],
    ['a quoted local part', '"ada"@example.com'],
    ['a leading dot', '.ada@example.com'],
    ['a double dot', 'a..da@example.com'],
    ['a trailing dot in the domain', 'ada@example.com.'],
    ['an empty label', 'ada@example..com'],
    ['a label with a hyphen at its start', 'ada@-example.com'],
    ['a label with a hyphen at its end', 'ada@example-.com'],
    ['an underscore in the domain', 'ada@exa_mple.com'],
    ['an address literal', 'ada@[127.0.0.1]'],
    ['a label of 64', `a@d${label63}.com`],
    ['a local part of 65', `${'l'.repeat(65)}@example.com`],
    ['a local part of 66 octets', `${'ü'.repeat(33)}@example.com`],
  ])('refuses %s', (_name, input) => {
    expect(normalizeEmail(input)).toBeNull();
  });

  it('draws the line at 254 octets', () => {
    const domain = [label63, label63, label63].join('.');
    expect(normalizeEmail(`${'l'.repeat(62)}@${domain}`)).toHaveLength(254);
    expect(normalizeEmail(`${'l'.repeat(63)}@${domain}`)).toBeNull();
    expect(normalizeEmail(`a@${['ü', 'ü', 'ü'].map((letter) => letter.repeat(60)).join('.')}`)).toBeNull();
  });

  it('is idempotent, blind to case, and keeps one @ for any input', () => {
    const loose = fc
      .tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.domain())
      .map(([local, domain]) => `${local}@${domain}`);
    fc.assert(
      fc.property(fc.oneof(fc.emailAddress(), loose, fc.string({ unit: 'binary' })), (input) => {
        const normal = normalizeEmail(input);
        if (normal === null) return;
        expect(normalizeEmail(normal)).toBe(normal);
        expect(normal).toBe(normal.toLowerCase());
        expect(normal.split('@')).toHaveLength(2);
        expect(normal).not.toMatch(/[\s\p{Cc}]/u);
      }),
      { numRuns: 1000 },
    );
  });

  it('accepts every ordinary address, in either case', () => {
    fc.assert(
      fc.property(fc.emailAddress({ size: 'small' }), (address) => {
        expect(normalizeEmail(address)).toBe(address.toLowerCase());
        expect(normalizeEmail(address.toUpperCase())).toBe(address.toLowerCase());
      }),
    );
  });
});

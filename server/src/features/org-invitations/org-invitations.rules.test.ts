import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizeEmail } from '../../kernel/email.ts';
import { cooldownLeft, isClosed, lifetimeSeconds, maskEmail, statusOf } from './org-invitations.rules.ts';

const at = (ms: number) => new Date(ms);

describe('maskEmail', () => {
  it.each([
    ['ada@example.org', 'a***@e***.org'],
    ['a@mail.example.co.uk', 'a***@m***.uk'],
    ['admin@localhost', 'a***@l***'],
    ['ädä@例え.jp', 'ä***@例***.jp'],
    ['𝒜da@example.org', '𝒜***@e***.org'],
  ])('shows %s as %s', (email, masked) => {
    expect(maskEmail(email)).toBe(masked);
  });

  it('shows one character of the name and of the domain, whatever the address', () => {
    fc.assert(
      fc.property(fc.emailAddress(), (address) => {
        const email = normalizeEmail(address);
        fc.pre(email !== null);
        expect(maskEmail(email)).toMatch(/^.\*\*\*@.\*\*\*(\.[^.@]+)?$/u);
      }),
    );
  });
});

describe('statusOf', () => {
  const life = fc.record({
    redeemedAt: fc.option(fc.integer({ min: 0, max: 100 }).map(at)),
    cancelledAt: fc.option(fc.integer({ min: 0, max: 100 }).map(at)),
    expiresAt: fc.integer({ min: 0, max: 100 }).map(at),
  });

  it('never leaves an end it has reached as time goes on', () => {
    fc.assert(
      fc.property(life, fc.nat(200), fc.nat(200), (invitation, now, later) => {
        const before = statusOf(invitation, at(now));
        const after = statusOf(invitation, at(now + later));
        expect(after).toBe(before === 'pending' ? after : before);
        expect(isClosed(invitation)).toBe(before === 'redeemed' || before === 'cancelled');
      }),
    );
  });

  it('is expired at the very instant', () => {
    const invitation = { redeemedAt: null, cancelledAt: null, expiresAt: at(5) };
    expect([statusOf(invitation, at(4)), statusOf(invitation, at(5))]).toEqual(['pending', 'expired']);
  });
});

describe('times', () => {
  it('has a default lifetime and a longest one', () => {
    expect(lifetimeSeconds(null)).toBe(7 * 86_400);
    expect(lifetimeSeconds('P30D')).toBe(30 * 86_400);
    expect(() => lifetimeSeconds('720h1s')).toThrow('must not exceed 30d');
  });

  it('cools down in a minute, rounded up', () => {
    expect([0, 1, 59_001, 60_000, 90_000].map((ms) => cooldownLeft(at(0), at(ms)))).toEqual([
      60, 60, 1, 0, 0,
    ]);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IdentitySession } from '../kernel/call.ts';
import { networkOf, secondsToNextWindow, windowStart } from './attempts.rules.ts';
import type { ActiveSession, AuthMethod } from './identity-model.ts';
import { hasVerifiedEmail, readWhoami } from './kratos-record.rules.ts';
import { isPrivileged } from './settings.rules.ts';
import { readSubmittedForm } from './submitted-form.rules.ts';

describe('attempt window', () => {
  it('is five minutes, and says when the next one begins', () => {
    const at = (time: string) => new Date(`2026-03-01T${time}Z`);
    expect(windowStart(at('10:04:59.999'))).toEqual(at('10:00:00.000'));
    expect(windowStart(at('10:05:00.000'))).toEqual(at('10:05:00.000'));
    expect(secondsToNextWindow(at('10:00:00.000'))).toBe(300);
    expect(secondsToNextWindow(at('10:04:59.999'))).toBe(1);
  });

  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['unknown', 'unknown'],
  ])('%s counts as %s', (ip, network) => {
    expect(networkOf(ip)).toBe(network);
  });

  it('is one network for all hosts of a /64, in any spelling', () => {
    fc.assert(
      fc.property(fc.ipV6(), (ip) => {
        expect(networkOf(ip)).toMatch(/^([0-9a-f]{1,4}:){3}[0-9a-f]{1,4}::\/64$|^\d+\.\d+\.\d+\.\d+$/);
      }),
    );
  });
});

describe('privileged session', () => {
  const now = new Date('2026-03-01T10:00:00Z');
  const session = (minutes: number, method: AuthMethod, passwordHash: string | null): ActiveSession => ({
    id: 's',
    method,
    ipAddress: null,
    userAgent: null,
    issuedAt: now,
    authenticatedAt: new Date(now.getTime() - minutes * 60_000),
    expiresAt: now,
    identity: {
      id: 'i',
      email: 'a@b.c',
      emailVerified: true,
      passwordHash,
      name: null,
      createdAt: now,
      updatedAt: now,
      userId: null,
    },
  });

  it.each([
    [0, 'password', 'hash', true],
    [10, 'password', 'hash', true],
    [10.1, 'password', 'hash', false],
    [10, 'link_recovery', 'hash', true],
    [10.1, 'link_recovery', 'hash', false],
    [60 * 24 * 20, 'link_recovery', null, true],
    [11, 'password', null, false],
  ] as const)('%d min after %s with %s: %s', (minutes, method, hash, expected) => {
    expect(isPrivileged(session(minutes, method, hash), now)).toBe(expected);
  });
});

describe('submitted form', () => {
  const empty = {
    method: null,
    csrfToken: null,
    identifier: null,
    password: null,
    email: null,
    name: null,
    code: null,
  };

  it('reads nested JSON and the dotted names of forms alike', () => {
    const expected = { ...empty, method: 'password', email: 'a@b.c', name: 'A', code: 'x' };
    const json = {
      method: 'password',
      traits: { email: 'a@b.c', name: 'A' },
      transient_payload: { code: 'x' },
    };
    const form = {
      method: 'password',
      'traits.email': 'a@b.c',
      'traits.name': 'A',
      'transient_payload.code': 'x',
    };
    expect(readSubmittedForm(json)).toEqual(expected);
    expect(readSubmittedForm(form)).toEqual(expected);
    expect(readSubmittedForm({ password_identifier: 'a' }).identifier).toBe('a');
  });

  it('takes anything, and lets nothing but text through', () => {
    fc.assert(
      fc.property(fc.anything(), (body) => {
        const values = Object.values(readSubmittedForm(body));
        expect(values.every((value) => value === null || (typeof value === 'string' && value !== ''))).toBe(
          true,
        );
      }),
    );
    expect(readSubmittedForm({ password: ['x'], identifier: 3, traits: 'x', method: '' })).toEqual(empty);
  });
});

describe('whoami answer', () => {
  const record = {
    id: 's1',
    active: true,
    identity: {
      id: 'i1',
      traits: { email: 'Ann@Lintel.test', name: { first: 'Ann', last: 'Lee' } },
      verifiable_addresses: [{ value: 'ann@lintel.test', via: 'email', verified: true }],
    },
  };

  it('gives who it is about, the address in its one spelling', () => {
    expect(readWhoami(record, 'https://k')).toEqual({
      issuer: 'https://k',
      subject: 'i1',
      sessionId: 's1',
      email: 'ann@lintel.test',
      name: 'Ann Lee',
      record,
    });
  });

  it.each([
    [null],
    ['text'],
    [[]],
    [{}],
    [{ ...record, active: false }],
    [{ ...record, id: 1 }],
    [{ ...record, identity: null }],
    [{ ...record, identity: { traits: {} } }],
  ])('%j is no session', (body) => {
    expect(readWhoami(body, 'https://k')).toBeNull();
  });

  const withAddresses = (addresses: unknown, email: unknown = 'ann@lintel.test'): IdentitySession => {
    const changed = {
      ...record,
      identity: { ...record.identity, traits: { email }, verifiable_addresses: addresses },
    };
    const session = readWhoami(changed, 'https://k');
    if (session === null) throw new Error('not a session');
    return session;
  };
  const proven = { value: 'ANN@lintel.test', via: 'email', verified: true };

  it.each([
    ['its own, verified', [proven], true],
    ['one of several', [{ ...proven, value: 'x@y.z' }, proven], true],
    ['not verified', [{ ...proven, verified: false }], false],
    ['verified as a text', [{ ...proven, verified: 'true' }], false],
    ['another address', [{ ...proven, value: 'other@lintel.test' }], false],
    ['a phone', [{ ...proven, via: 'sms' }], false],
    ['none', [], false],
    ['no list', undefined, false],
    ['strange members', [null, 'x', 3], false],
  ])('an address counts as proven: %s', (_, addresses, expected) => {
    expect(hasVerifiedEmail(withAddresses(addresses))).toBe(expected);
  });

  it('proves no address that is not there', () => {
    expect(hasVerifiedEmail(withAddresses([proven], undefined))).toBe(true);
    expect(hasVerifiedEmail(withAddresses([proven], 'not an address'))).toBe(false);
    expect(hasVerifiedEmail(withAddresses([proven], null))).toBe(false);
  });
});

import { describe, expect, it } from 'vitest';
import { readToken, resolveSettings, toApiBase, type Wishes } from './settings.ts';

const secret = 'a_b-'.repeat(11).slice(0, 43);
const wishes = (some: Partial<Wishes> = {}): Wishes => ({ url: null, token: null, orgId: null, ...some });
const tokenOf = (base: string, brand = 'service') => `${base}_${brand}_${secret}`;

describe('settings', () => {
  it('are taken from flags before the environment before the file', () => {
    const flags = wishes({ url: 'http://flag', orgId: 'F' });
    const environment = wishes({ url: 'http://env', token: 'E', orgId: 'E' });
    const stored = wishes({ url: 'http://file', token: 'S', orgId: 'S' });
    expect(resolveSettings(flags, environment, stored)).toMatchObject({
      apiBase: 'http://flag/api/v1',
      token: 'E',
      orgId: 'F',
    });
    expect(resolveSettings(wishes(), environment, stored).apiBase).toBe('http://env/api/v1');
    expect(resolveSettings(wishes(), wishes(), stored)).toMatchObject({
      apiBase: 'http://file/api/v1',
      token: 'S',
      orgId: 'S',
    });
    expect(resolveSettings(wishes(), wishes(), wishes()).apiBase).toBe('http://localhost:8080/api/v1');
  });

  it('never send a stored key to another service than its own', () => {
    const stored = wishes({ url: 'http://file/api/v1', token: 'S', orgId: 'S' });
    expect(resolveSettings(wishes({ url: 'http://other' }), wishes(), stored)).toMatchObject({
      token: null,
      orgId: null,
    });
    expect(resolveSettings(wishes(), wishes({ url: 'http://other' }), stored).token).toBeNull();
    expect(resolveSettings(wishes({ url: 'http://file/' }), wishes(), stored).token).toBe('S');
  });

  it('find the address and the brand in the key', () => {
    const given = wishes({ token: tokenOf('https://doors.example/api/v1', 'acme') });
    expect(resolveSettings(given, wishes(), wishes({ url: 'http://file' }))).toMatchObject({
      apiBase: 'https://doors.example/api/v1',
      brand: 'acme',
    });
    expect(readToken(tokenOf('http://a_service_b'))).toEqual({
      base: 'http://a_service_b',
      brand: 'service',
    });
    expect(readToken('nonsense')).toBeNull();
  });

  it('take an address with and without the path of the API', () => {
    for (const url of ['http://a', 'http://a/', 'http://a/api/v1', 'http://a/api/v1/'])
      expect(toApiBase(url)).toBe('http://a/api/v1');
    expect(toApiBase('http://a/proxy')).toBe('http://a/proxy/api/v1');
    expect(() => toApiBase('ftp://a')).toThrow('no http or https address');
  });
});

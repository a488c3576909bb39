import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createPerson,
  eventsOf,
  type PersonWithPassword,
  sessionCookieFor,
  sessionTokenFor,
} from '../../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootOrgId, testPublicUrl } from '../../../test/support/test-world.ts';

const probes = ['/auth/whoami', '/auth/session', '/auth/kratos-identity'];
const endings = ['/auth/logout', '/auth/sign-out'];
const sameOrigin = { origin: testPublicUrl };

describe('session helper routes', () => {
  let app: TestApp;
  let person: PersonWithPassword;

  beforeAll(async () => {
    app = await startTestApp();
    person = await createPerson(app);
  });
  afterAll(() => app.close());

  it.each(probes)('%s gives the session to its cookie and its token', async (path) => {
    const cookie = await sessionCookieFor(app, person);
    const token = await sessionTokenFor(app, person);
    const expected = { active: true, identity: { traits: { email: person.email } } };
    const byCookie = await app.request('GET', path, { headers: { cookie: `a=b; ${cookie}` } });
    const byHeader = await app.request('GET', path, { headers: { 'x-session-token': token } });
    const byBearer = await app.request('GET', path, { token });
    for (const answer of [byCookie, byHeader, byBearer]) {
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject(expected);
    }
  });

  it.each(probes)(
    '%s is JSON null without a session and for a valid key, 401 for a bad key',
    async (path) => {
      const key = await app.world.key(person.orgId, person.userId);
      const cookie = await sessionCookieFor(app, person);
      const none = await app.request('GET', path);
      const stale = await app.request('GET', path, { headers: { cookie: 'ory_kratos_session=over' } });
      const withKey = await app.request('GET', path, { token: key.token, headers: { cookie } });
      for (const answer of [none, stale, withKey]) {
        expect([answer.status, answer.text]).toEqual([200, 'null']);
        expect(String(answer.headers['content-type'])).toContain('application/json');
      }
      await app.db.query('update api_keys set revoked_at = now() where id = $1', [key.id]);
      expect((await app.request('GET', path, { token: key.token })).status).toBe(401);
      expect((await app.request('GET', path, { token: 'nonsense' })).status).toBe(401);
    },
  );

  it('tells who is provisioned: a user’s session and a key are, nobody is not', async () => {
    const { token } = await app.world.key(person.orgId, person.userId);
    const cookie = await sessionCookieFor(app, person);
    const ask = async (options: object) => (await app.request('GET', '/auth/provisioned', options)).status;
    expect(await ask({ headers: { cookie } })).toBe(204);
    expect(await ask({ token })).toBe(204);
    expect(await ask({})).toBe(401);
  });

  it.each(endings)('%s ends the session and clears every cookie of the provider', async (path) => {
    const session = await sessionCookieFor(app, person);
    const cookie = `csrf_token_old=1; ${session}; other=2; csrf_token_5f2a=3`;
    const correlationId = `logout ${path}`;
    const answer = await app.request('POST', path, {
      headers: { ...sameOrigin, cookie, 'x-correlation-id': correlationId },
    });
    expect([answer.status, answer.text]).toEqual([204, '']);
    const cleared = 'Path=/; Max-Age=0; HttpOnly; SameSite=Lax';
    expect(answer.headers['set-cookie']).toEqual([
      `ory_kratos_session=; ${cleared}`,
      `csrf_token_old=; ${cleared}`,
      `csrf_token_5f2a=; ${cleared}`,
    ]);
    expect((await app.request('GET', '/auth/session', { headers: { cookie } })).text).toBe('null');
    expect(await eventsOf(app, correlationId)).toMatchObject([
      {
        event_type: 'identity.logged_out',
        org_id: person.orgId,
        actor_kind: 'user',
        actor_user_id: person.userId,
        source: 'dashboard',
      },
    ]);
  });

  it.each(endings)('%s without a session is 204, clears stale cookies and writes nothing', async (path) => {
    const headers = { cookie: 'ory_kratos_session=over; csrf_token_x=1', 'x-correlation-id': `idle ${path}` };
    const answer = await app.request('POST', path, { headers });
    expect(answer.status).toBe(204);
    expect(answer.headers['set-cookie']).toHaveLength(2);
    expect(await eventsOf(app, `idle ${path}`)).toEqual([]);
  });

  it('ends a native session by its token, and the cookie’s session for who also sends a key', async () => {
    const token = await sessionTokenFor(app, person);
    const native = { headers: { 'x-session-token': token } };
    expect((await app.request('POST', '/auth/logout', native)).status).toBe(204);
    expect((await app.request('GET', '/auth/session', native)).text).toBe('null');

    const key = await app.world.key(person.orgId, person.userId);
    const cookie = await sessionCookieFor(app, person);
    const both = { token: key.token, headers: { cookie } };
    expect((await app.request('POST', '/auth/logout', both)).status).toBe(204);
    expect((await app.request('GET', '/auth/session', { headers: { cookie } })).text).toBe('null');
  });

  const unsafe = [
    ['no proof', {}],
    ['a foreign Origin', { origin: 'https://evil.test' }],
    ['a foreign Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site', origin: testPublicUrl }],
    ['a sibling’s Sec-Fetch-Site', { 'sec-fetch-site': 'same-site' }],
  ] as const;

  it.each(unsafe)(
    'refuses a cookie caller with %s on unsafe methods, and writes it down',
    async (why, headers) => {
      const cookie = await sessionCookieFor(app, person);
      const correlationId = `forged ${why.replace(/[^ -~]/g, '')}`;
      const answer = await app.request('POST', '/auth/logout', {
        headers: { ...headers, cookie, 'x-correlation-id': correlationId },
      });
      expect([answer.status, answer.body.code]).toEqual([403, 'csrf_rejected']);
      expect(await eventsOf(app, correlationId)).toMatchObject([
        { event_type: 'identity.logged_out', outcome: 'denied', details: { code: 'csrf_rejected' } },
      ]);
      expect((await app.request('GET', '/auth/session', { headers: { cookie } })).text).not.toBe('null');
    },
  );

  it('refuses a forged change to an organization’s data and tells that organization', async () => {
    const cookie = await sessionCookieFor(app, person);
    const answer = await app.request('POST', '/api-keys', {
      org: person.orgId,
      body: { name: 'k', expires_in: '1d' },
      headers: { cookie, 'x-correlation-id': 'forged key' },
    });
    expect([answer.status, answer.body.code]).toEqual([403, 'csrf_rejected']);
    const [event, ...more] = await eventsOf(app, 'forged key');
    expect(more).toEqual([]);
    expect(event).toMatchObject({ org_id: person.orgId, outcome: 'denied' });
    expect(event?.org_id).not.toBe(rootOrgId);
  });

  it('marks cookies Secure where the service is reached by https', async () => {
    const secure = await startTestApp({ env: { PUBLIC_URL: 'https://lintel.test' } });
    const answer = await secure.request('POST', '/auth/logout', { headers: { cookie: 'csrf_token_a=1' } });
    const lines = answer.headers['set-cookie'] as string[];
    expect(lines.every((line) => line.endsWith('; Secure'))).toBe(true);
    const flow = await secure.app.http.inject('/identity/self-service/login/browser');
    expect(String(flow.headers['set-cookie'])).toMatch(/^csrf_token_[0-9a-f]{64}=.*; Secure$/);
    await secure.close();
  });
});

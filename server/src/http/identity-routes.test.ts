import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCookieJar } from '../../test/support/cookie-jar.ts';
import {
  createPerson,
  identityBase,
  type PersonWithPassword,
  sessionCookieFor,
} from '../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import { testPublicUrl } from '../../test/support/test-world.ts';

const form = 'application/x-www-form-urlencoded';
const accept = { accept: 'application/json' };

describe('identity endpoints', () => {
  let app: TestApp;
  let person: PersonWithPassword;

  beforeAll(async () => {
    app = await startTestApp();
    person = await createPerson(app);
  });
  afterAll(() => app.close());

  const get = (url: string, headers: Record<string, string> = {}) => app.app.http.inject({ url, headers });
  const post = (url: string, payload: string, headers: Record<string, string>) =>
    app.app.http.inject({ method: 'POST', url, payload, headers });

  async function openLoginPage(query = '') {
    const jar = createCookieJar();
    const started = await get(`/identity/self-service/login/browser${query}`);
    jar.take(started.headers['set-cookie']);
    const page = await get(String(started.headers.location), { cookie: jar.header() });
    const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const action = /action="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const submit = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
      post(action, new URLSearchParams({ csrf_token, method: 'password', ...fields }).toString(), {
        'content-type': form,
        cookie: jar.header(),
        ...headers,
      });
    return { started, page, jar, submit };
  }

  it('signs a browser without scripts in: redirect, form, error, success, return_to', async () => {
    const { started, page, jar, submit } = await openLoginPage('?return_to=/doors%3Fa=1');
    expect(started.statusCode).toBe(303);
    expect(page.headers['content-type']).toContain('text/html');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.body).not.toMatch(/<script/i);

    const wrong = await submit({ identifier: person.email, password: '"><script>' });
    expect([wrong.statusCode, wrong.headers.location]).toEqual([303, started.headers.location]);
    const again = await get(String(wrong.headers.location), { cookie: jar.header() });
    expect(again.body).toContain('The provided credentials are invalid');
    expect(again.body).toContain(`name="identifier" value="${person.email}"`);

    const right = await submit({ identifier: person.email, password: person.password });
    expect([right.statusCode, right.headers.location]).toEqual([303, `${testPublicUrl}/doors?a=1`]);
    jar.take(right.headers['set-cookie']);
    expect((await get('/identity/sessions/whoami', { cookie: jar.header() })).statusCode).toBe(200);
    const signedIn = await get('/identity/self-service/login/browser', { cookie: jar.header() });
    expect([signedIn.statusCode, signedIn.headers.location]).toEqual([303, `${testPublicUrl}/`]);
  });

  it('escapes what a person typed', async () => {
    const { jar, submit } = await openLoginPage();
    const typed = 'a"b&<i>@people.test';
    const wrong = await submit({ identifier: typed, password: 'wrong password' });
    const page = await get(String(wrong.headers.location), { cookie: jar.header() });
    expect(page.body).not.toContain('<i>');
  });

  it('refuses a form of a foreign page although cookie and token fit', async () => {
    const { submit } = await openLoginPage();
    const fields = { identifier: person.email, password: person.password };
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.test' },
      { 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of foreign) {
      const refused = await submit(fields, headers);
      expect(refused.statusCode).toBe(403);
      expect(refused.headers['content-type']).toContain('text/html');
    }
    expect((await submit(fields, { origin: testPublicUrl })).statusCode).toBe(303);
  });

  it('sends a browser back to the start when its flow is unknown or over', async () => {
    const start = `${identityBase}/self-service/login/browser`;
    const unknown = await get('/identity/ui/login?flow=7d0ee95a-0000-4000-8000-000000000000');
    expect([unknown.statusCode, unknown.headers.location]).toEqual([303, start]);
    const { started, jar, submit } = await openLoginPage();
    const id = new URL(String(started.headers.location)).searchParams.get('flow');
    await app.db.query("update identity.flows set expires_at = now() - interval '1 s' where id = $1", [id]);
    const over = await get(String(started.headers.location), { cookie: jar.header() });
    expect([over.statusCode, over.headers.location]).toEqual([303, start]);
    const late = await submit({ identifier: person.email, password: person.password });
    expect(late.statusCode).toBe(303);
    const next = await get(String(late.headers.location), { cookie: jar.header() });
    expect(next.body).toContain('The login flow expired');
  });

  it('shows an error page instead of a loop to a browser without cookies', async () => {
    const { started } = await openLoginPage();
    const page = await get(String(started.headers.location));
    expect(page.statusCode).toBe(403);
    expect(page.body).toContain('Start again');
  });

  it.each(['login', 'registration', 'settings'])('refuses a foreign return_to of %s', async (kind) => {
    const cookie = kind === 'settings' ? await sessionCookieFor(app, person) : '';
    const url = `/identity/self-service/${kind}/browser?return_to=//evil.test`;
    const asJson = await get(url, { cookie, ...accept });
    expect(asJson.statusCode).toBe(400);
    expect(asJson.json()).toMatchObject({
      error: { id: 'self_service_flow_return_to_forbidden', code: 400 },
    });
    const asPage = await get(url, { cookie });
    expect([asPage.statusCode, asPage.headers.location]).toEqual([400, undefined]);
  });

  it('logs a browser out by a link, back to an own page only', async () => {
    const cookie = await sessionCookieFor(app, person);
    const begin = (returnTo: string) =>
      get(`/identity/self-service/logout/browser?return_to=${returnTo}`, { cookie });
    expect((await begin('https://evil.test')).statusCode).toBe(400);
    const { logout_url } = (await begin('/bye')).json<{ logout_url: string }>();
    const { pathname, search } = new URL(logout_url);
    const foreign = new URLSearchParams(search);
    foreign.set('return_to', 'https://evil.test');
    expect((await get(`${pathname}?${foreign}`, { cookie })).statusCode).toBe(400);
    const done = await get(`${pathname}${search}`, { cookie });
    expect([done.statusCode, done.headers.location]).toEqual([303, `${testPublicUrl}/bye`]);
    expect((await get('/identity/sessions/whoami', { cookie })).statusCode).toBe(401);
  });

  it('describes its identities by a schema', async () => {
    const cookie = await sessionCookieFor(app, person);
    const whoami = (await get('/identity/sessions/whoami', { cookie })).json<{
      identity: { schema_url: string };
    }>();
    const schema = await get(new URL(whoami.identity.schema_url).pathname);
    expect(schema.json()).toMatchObject({ properties: { traits: { required: ['email'] } } });
  });

  const json = 'application/json';
  it.each([
    ['malformed JSON', json, '{"method":', 400],
    ['JSON 10^5 deep', json, '['.repeat(1e5), 413],
    ['JSON 33 deep', json, `${'['.repeat(33)}${']'.repeat(33)}`, 400],
    ['a NUL', json, '{"method":"password","identifier":"a\\u0000b","password":"x"}', 400],
    ['half a surrogate pair', json, '{"identifier":"\\ud800"}', 400],
    ['a list', json, '[]', 400],
    ['null', json, 'null', 400],
    ['a number', json, '3', 400],
    ['wrong types', json, '{"method":{},"identifier":[],"password":1,"csrf_token":{}}', 400],
    ['nothing', json, '', 400],
    ['another type', 'text/plain', 'x', 415],
    ['multipart', 'multipart/form-data; boundary=x', '--x--', 415],
    ['too much', form, `password=${'x'.repeat(20_000)}`, 413],
    ['a broken form', form, '%zz=%E0%A4%A&__proto__=1', 400],
  ])('answers %s with a 4xx of its own shape', async (_, type, payload, status) => {
    for (const kind of ['login', 'registration']) {
      const { id } = (await get(`/identity/self-service/${kind}/api`)).json<{ id: string }>();
      const answer = await post(`/identity/self-service/${kind}?flow=${id}`, payload, {
        'content-type': type,
        ...accept,
      });
      expect(answer.statusCode, answer.body).toBe(status);
      const body = answer.json<{ error?: { code: number; message: string }; ui?: object }>();
      expect(body.error?.code ?? (body.ui ? status : null)).toBe(status);
      expect(answer.headers['x-request-id']).toBeDefined();
    }
  });

  it.each([
    ['GET', '/identity/nothing-here', 404],
    ['GET', '/identity/ui/recovery', 404],
    ['GET', '/identity/self-service/recovery/browser', 404],
    ['GET', '/identity/self-service/login/flows', 404],
    ['GET', '/identity/self-service/login/flows?id=a&id=b', 404],
    ['POST', '/identity/self-service/login', 404],
    ['GET', '/identity/self-service/logout', 401],
    ['DELETE', '/identity/sessions/not-a-uuid', 403],
    ['DELETE', '/identity/self-service/logout/api', 403],
  ] as const)('%s %s is %d', async (method, url, status) => {
    const answer = await app.app.http.inject({ method, url, headers: accept });
    expect([answer.statusCode, answer.json<{ error: { code: number } }>().error.code]).toEqual([
      status,
      status,
    ]);
  });

  it('tells a signed-in person that a session of nobody is unknown', async () => {
    const cookie = await sessionCookieFor(app, person);
    for (const id of ['not-a-uuid', '7d0ee95a-0000-4000-8000-000000000000']) {
      const answer = await app.app.http.inject({
        method: 'DELETE',
        url: `/identity/sessions/${id}`,
        headers: { cookie, origin: testPublicUrl },
      });
      expect(answer.statusCode).toBe(404);
    }
  });

  it('reads forms nowhere else', async () => {
    const answer = await post('/api/v1/invitations/preview', 'token=x', { 'content-type': form });
    expect(answer.statusCode).toBe(415);
  });
});

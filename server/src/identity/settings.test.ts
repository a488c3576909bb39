import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createPerson,
  eventsOf,
  identityBase,
  sessionCookieFor,
  sessionTokenFor,
} from '../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';

interface Body {
  readonly id: string;
  readonly state?: string;
  readonly error?: { readonly id: string };
  readonly redirect_browser_to?: string;
  readonly ui: {
    readonly messages?: { id: number }[];
    readonly nodes: { attributes: { name: string; value?: string }; messages: { id: number }[] }[];
  };
}

describe('settings', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const begin = async (token: string) =>
    app.app.http.inject({
      url: '/identity/self-service/settings/api',
      headers: { 'x-session-token': token },
    });
  async function submit(flow: string, token: string, password: string, correlationId = 'settings') {
    const answer = await app.app.http.inject({
      method: 'POST',
      url: `/identity/self-service/settings?flow=${flow}`,
      headers: { 'x-session-token': token, 'x-correlation-id': correlationId },
      payload: { method: 'password', password },
    });
    return { status: answer.statusCode, body: answer.json<Body>() };
  }
  const isSignedIn = async (token: string) =>
    (await app.request('GET', '/auth/session', { headers: { 'x-session-token': token } })).body !== null;

  it('changes the password, ends every other session and keeps the own', async () => {
    const person = await createPerson(app);
    const [mine, other] = [await sessionTokenFor(app, person), await sessionTokenFor(app, person)];
    const cookie = await sessionCookieFor(app, person);
    const flow = (await begin(mine)).json<Body>();
    const saved = await submit(flow.id, mine, 'a new long secret', 'password-change');
    expect(saved.status).toBe(200);
    expect(saved.body.state).toBe('success');
    expect(saved.body.ui.messages?.map(({ id }) => id)).toEqual([1050001]);
    expect([await isSignedIn(mine), await isSignedIn(other)]).toEqual([true, false]);
    expect((await app.request('GET', '/auth/session', { headers: { cookie } })).body).toBeNull();
    expect(await eventsOf(app, 'password-change')).toMatchObject([
      {
        event_type: 'identity.password_changed',
        org_id: person.orgId,
        actor_user_id: person.userId,
        details: { sessions_ended: 2 },
      },
    ]);
    await expect(sessionTokenFor(app, person)).rejects.toThrow('4000006');
    await sessionTokenFor(app, { ...person, password: 'a new long secret' });
    expect((await submit(flow.id, mine, 'another long secret')).status).toBe(410);
  });

  it('asks for the password again when the last time is more than ten minutes ago', async () => {
    const person = await createPerson(app);
    const token = await sessionTokenFor(app, person);
    const flow = (await begin(token)).json<Body>();
    await app.db.query(
      "update identity.sessions set authenticated_at = now() - interval '11 minutes' where revoked_at is null",
    );
    const refused = await submit(flow.id, token, 'a new long secret');
    expect([refused.status, refused.body.error?.id]).toEqual([403, 'session_refresh_required']);
    expect(refused.body.redirect_browser_to).toContain(
      `${identityBase}/self-service/login/browser?refresh=true&return_to=`,
    );
    await sessionTokenFor(app, person);
  });

  it('is for a session, and for the own identity only', async () => {
    const none = await app.app.http.inject('/identity/self-service/settings/api');
    expect([none.statusCode, none.json<Body>().error?.id]).toEqual([401, 'session_inactive']);
    const [person, stranger] = [await createPerson(app), await createPerson(app)];
    const flow = (await begin(await sessionTokenFor(app, person))).json<Body>();
    const theirs = await sessionTokenFor(app, stranger);
    const forged = await submit(flow.id, theirs, 'a new long secret');
    expect([forged.status, forged.body.error?.id]).toEqual([403, 'security_identity_mismatch']);
    const read = await app.app.http.inject({
      url: `/identity/self-service/settings/flows?id=${flow.id}`,
      headers: { 'x-session-token': theirs },
    });
    expect(read.statusCode).toBe(403);
  });

  it('refuses a weak password on its field', async () => {
    const person = await createPerson(app);
    const token = await sessionTokenFor(app, person);
    const flow = (await begin(token)).json<Body>();
    const refused = await submit(flow.id, token, 'password1');
    const node = refused.body.ui.nodes.find(({ attributes }) => attributes.name === 'password');
    expect([refused.status, node?.messages.map(({ id }) => id)]).toEqual([400, [4000005]]);
  });

  it('leads a browser through: sign-in first, then the form, then back', async () => {
    const person = await createPerson(app);
    const start = '/identity/self-service/settings/browser';
    const sent = await app.app.http.inject(start);
    expect([sent.statusCode, sent.headers.location]).toEqual([
      303,
      `${identityBase}/self-service/login/browser?return_to=${encodeURIComponent(`${identityBase}/self-service/settings/browser`)}`,
    ]);
    const session = await sessionCookieFor(app, person);
    const begun = await app.app.http.inject({
      url: `${start}?return_to=/after`,
      headers: { cookie: session },
    });
    const cookie = `${session}; ${String(begun.headers['set-cookie']).split(';')[0]}`;
    const page = await app.app.http.inject({ url: String(begun.headers.location), headers: { cookie } });
    expect(page.body).toContain('Change your password');
    const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const post = (password: string) =>
      app.app.http.inject({
        method: 'POST',
        url: /action="([^"]+)"/.exec(page.body)?.[1] ?? '',
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ csrf_token, method: 'password', password }).toString(),
      });
    const weak = await post('short');
    expect([weak.statusCode, weak.headers.location]).toEqual([303, begun.headers.location]);
    const again = await app.app.http.inject({ url: String(weak.headers.location), headers: { cookie } });
    expect(again.body).toContain('at least 8 characters');
    const done = await post('a new long secret');
    expect([done.statusCode, done.headers.location]).toEqual([303, 'http://localhost:8080/after']);
  });
});

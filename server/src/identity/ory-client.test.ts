import { Configuration, FrontendApi, type UiNode } from '@ory/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCookieJar } from '../../test/support/cookie-jar.ts';
import { createPerson, eventsOf, identityBase, type PersonWithPassword } from '../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import { csrfCookieName } from './csrf.rules.ts';

interface Failure {
  readonly status: number;
  readonly data: {
    readonly error?: { readonly id?: string; readonly code?: number; readonly status?: string };
    readonly use_flow_id?: string;
    readonly ui?: { readonly messages?: { readonly id: number }[]; readonly nodes: UiNode[] };
  };
  readonly headers: Record<string, unknown>;
}

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  try {
    await work;
  } catch (error) {
    const response = error instanceof Error ? Reflect.get(error, 'response') : undefined;
    if (response === undefined) throw error;
    return response as Failure;
  }
  throw new Error('it did not fail');
}

function csrfTokenOf(nodes: readonly UiNode[]): string {
  const attributes = nodes.map((node) => node.attributes);
  const found = attributes.find((one) => 'name' in one && one.name === 'csrf_token');
  return found !== undefined && 'value' in found ? String(found.value) : '';
}

describe('@ory/client against the built-in provider', () => {
  let app: TestApp;
  let ory: FrontendApi;
  let person: PersonWithPassword;

  beforeAll(async () => {
    app = await startTestApp();
    const address = await app.app.http.listen({ host: '127.0.0.1', port: 0 });
    ory = new FrontendApi(new Configuration({ basePath: `${address}/identity` }));
    person = await createPerson(app);
  });
  afterAll(() => app.close());

  const credentials = () => ({
    method: 'password' as const,
    identifier: person.email,
    password: person.password,
  });
  const correlated = (id: string) => ({ headers: { 'x-correlation-id': id } });

  async function beginInBrowser() {
    const jar = createCookieJar();
    const begun = await ory.createBrowserLoginFlow();
    jar.take(begun.headers['set-cookie']);
    return { jar, flow: begun.data, csrf_token: csrfTokenOf(begun.data.ui.nodes) };
  }

  async function signInWithBrowser() {
    const { jar, flow, csrf_token } = await beginInBrowser();
    const done = await ory.updateLoginFlow({
      flow: flow.id,
      cookie: jar.header(),
      updateLoginFlowBody: { ...credentials(), csrf_token },
    });
    jar.take(done.headers['set-cookie']);
    return { jar, done };
  }

  async function signInNatively() {
    const { data: flow } = await ory.createNativeLoginFlow();
    const { data } = await ory.updateLoginFlow({ flow: flow.id, updateLoginFlowBody: credentials() });
    return { flow, token: data.session_token ?? '', session: data.session };
  }

  it('signs a browser in: flow, CSRF cookie, session cookie, whoami', async () => {
    const { jar, flow } = await beginInBrowser();
    expect(flow).toMatchObject({ type: 'browser', state: 'choose_method', requested_aal: 'aal1' });
    expect(flow.ui.action).toBe(`${identityBase}/self-service/login?flow=${flow.id}`);
    expect(jar.names()).toEqual([csrfCookieName(identityBase)]);
    const read = await ory.getLoginFlow({ id: flow.id, cookie: jar.header() });
    expect(read.data.id).toBe(flow.id);

    const signedIn = await signInWithBrowser();
    expect(signedIn.done.data.session_token).toBeUndefined();
    expect(signedIn.done.headers['set-cookie']?.[0]).toMatch(
      /^ory_kratos_session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/,
    );
    const whoami = await ory.toSession({ cookie: signedIn.jar.header() });
    expect(whoami.data).toMatchObject({
      active: true,
      authenticator_assurance_level: 'aal1',
      authentication_methods: [{ method: 'password', aal: 'aal1' }],
      identity: { schema_id: 'default', state: 'active', traits: { email: person.email } },
    });
    expect(whoami.headers['x-kratos-authenticated-identity-id']).toBe(whoami.data.identity?.id);
  });

  it('signs a native client in by a token, which works in both headers and in no cookie', async () => {
    const { token, session } = await signInNatively();
    expect(token).toMatch(/^ory_st_[\w-]{43}$/);
    expect((await ory.toSession({ xSessionToken: token })).data.id).toBe(session.id);
    const bearer = await ory.toSession({}, { headers: { authorization: `Bearer ${token}` } });
    expect(bearer.data.id).toBe(session.id);
    const asCookie = await failureOf(ory.toSession({ cookie: `ory_kratos_session=${token}` }));
    expect(asCookie.data.error?.id).toBe('session_inactive');
  });

  it('keeps only hashes of tokens', async () => {
    const { token } = await signInNatively();
    const dump = await app.db.query<{ row: string }>(
      'select s::text as row from identity.sessions s union all select f::text from identity.flows f',
    );
    expect(dump.map(({ row }) => row).join('\n')).not.toContain(token.slice('ory_st_'.length));
  });

  it('refuses a wrong password with 400 and text 4000006, an unknown address likewise', async () => {
    for (const identifier of [person.email, 'nobody@people.test', 'no address at all']) {
      const { jar, flow, csrf_token } = await beginInBrowser();
      const refused = await failureOf(
        ory.updateLoginFlow({
          flow: flow.id,
          cookie: jar.header(),
          updateLoginFlowBody: { ...credentials(), identifier, password: 'wrong password', csrf_token },
        }),
      );
      expect(refused.status).toBe(400);
      expect(refused.data.ui?.messages?.map(({ id }) => id)).toEqual([4000006]);
      expect(refused.headers['set-cookie']).not.toEqual(
        expect.arrayContaining([expect.stringMatching('ory_kratos_session')]),
      );
    }
  });

  it('names a missing field on its node with 4000002', async () => {
    const { data: flow } = await ory.createNativeLoginFlow();
    const refused = await failureOf(
      ory.updateLoginFlow({ flow: flow.id, updateLoginFlowBody: { ...credentials(), password: '' } }),
    );
    const node = refused.data.ui?.nodes.find(
      ({ attributes }) => 'name' in attributes && attributes.name === 'password',
    );
    expect(node?.messages.map(({ id }) => id)).toEqual([4000002]);
  });

  it('refuses a forged or foreign browser request with 403 security_csrf_violation', async () => {
    const mine = await beginInBrowser();
    const other = await beginInBrowser();
    const submit = (cookie: string, csrf_token: string) =>
      ory.updateLoginFlow({
        flow: mine.flow.id,
        cookie,
        updateLoginFlowBody: { ...credentials(), csrf_token },
      });
    const attempts = [
      () => submit(mine.jar.header(), ''),
      () => submit(mine.jar.header(), other.csrf_token),
      () => submit(other.jar.header(), other.csrf_token),
      () => submit('', mine.csrf_token),
      () => ory.getLoginFlow({ id: mine.flow.id, cookie: other.jar.header() }),
      () => ory.getLoginFlow({ id: mine.flow.id }),
    ];
    for (const attempt of attempts) {
      const refused = await failureOf(attempt());
      expect([refused.status, refused.data.error?.id]).toEqual([403, 'security_csrf_violation']);
    }
  });

  it('refuses a browser in an api flow', async () => {
    const { data: flow } = await ory.createNativeLoginFlow();
    const refused = await failureOf(
      ory.updateLoginFlow({ flow: flow.id, cookie: 'a=b', updateLoginFlowBody: credentials() }),
    );
    expect(refused.status).toBe(400);
  });

  it('answers 404 for an unknown flow, 410 with a new one for an expired or used one', async () => {
    const unknown = await failureOf(ory.getLoginFlow({ id: '7d0ee95a-0000-4000-8000-000000000000' }));
    expect([unknown.status, unknown.data.error?.code]).toEqual([404, 404]);
    const malformed = await failureOf(ory.getLoginFlow({ id: 'not-a-uuid' }));
    expect(malformed.status).toBe(404);

    const { data: flow } = await ory.createNativeLoginFlow();
    await app.db.query("update identity.flows set expires_at = now() - interval '1 minute' where id = $1", [
      flow.id,
    ]);
    const late = await failureOf(ory.updateLoginFlow({ flow: flow.id, updateLoginFlowBody: credentials() }));
    expect([late.status, late.data.error?.id]).toEqual([410, 'self_service_flow_expired']);
    const next = await ory.updateLoginFlow({
      flow: late.data.use_flow_id ?? '',
      updateLoginFlowBody: credentials(),
    });
    expect(next.data.session_token).toMatch(/^ory_st_/);
    const gone = await failureOf(ory.getLoginFlow({ id: flow.id }));
    expect([gone.status, gone.data.error?.id]).toEqual([410, 'self_service_flow_expired']);

    const again = await failureOf(
      ory.updateLoginFlow({ flow: late.data.use_flow_id ?? '', updateLoginFlowBody: credentials() }),
    );
    expect(again.status).toBe(410);
  });

  it('lets one of two submissions of a flow through', async () => {
    const { data: flow } = await ory.createNativeLoginFlow();
    const submit = () => ory.updateLoginFlow({ flow: flow.id, updateLoginFlowBody: credentials() });
    const results = await Promise.allSettled([submit(), submit()]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('refuses to start a login while signed in, unless it is a refresh, which replaces the session', async () => {
    const { token } = await signInNatively();
    const refused = await failureOf(ory.createNativeLoginFlow({ xSessionToken: token }));
    expect([refused.status, refused.data.error?.id]).toEqual([400, 'session_already_available']);
    const { data: flow } = await ory.createNativeLoginFlow({ xSessionToken: token, refresh: true });
    expect(flow.refresh).toBe(true);
    const { data } = await ory.updateLoginFlow({
      flow: flow.id,
      xSessionToken: token,
      updateLoginFlowBody: credentials(),
    });
    expect((await ory.toSession({ xSessionToken: data.session_token ?? '' })).status).toBe(200);
    expect((await failureOf(ory.toSession({ xSessionToken: token }))).status).toBe(401);
  });

  it('logs a browser out by the logout token of its own session', async () => {
    const { jar } = await signInWithBrowser();
    const other = await signInWithBrowser();
    const { data: theirs } = await ory.createBrowserLogoutFlow({ cookie: other.jar.header() });
    const wrong = await failureOf(ory.updateLogoutFlow({ token: theirs.logout_token, cookie: jar.header() }));
    expect(wrong.status).toBe(403);

    const { data: logout } = await ory.createBrowserLogoutFlow({ cookie: jar.header() });
    expect(logout.logout_token).toMatch(/^ory_lo_/);
    expect(logout.logout_url).toContain(`${identityBase}/self-service/logout?token=`);
    const done = await ory.updateLogoutFlow(
      { token: logout.logout_token, cookie: jar.header() },
      correlated('browser-logout'),
    );
    expect(done.status).toBe(204);
    expect((await failureOf(ory.toSession({ cookie: jar.header() }))).status).toBe(401);
    jar.take(done.headers['set-cookie']);
    expect(jar.names()).toEqual([]);
    expect(await eventsOf(app, 'browser-logout')).toMatchObject([
      { event_type: 'identity.logged_out', org_id: person.orgId, actor_user_id: person.userId },
    ]);
    const none = await failureOf(ory.createBrowserLogoutFlow());
    expect([none.status, none.data.error?.id]).toEqual([401, 'session_inactive']);
  });

  it('logs a native client out; again is fine, a token that never was is 403', async () => {
    const { token } = await signInNatively();
    const logout = (session_token: string) =>
      ory.performNativeLogout({ performNativeLogoutBody: { session_token } });
    expect((await logout(token)).status).toBe(204);
    expect((await failureOf(ory.toSession({ xSessionToken: token }))).status).toBe(401);
    expect((await logout(token)).status).toBe(204);
    expect((await failureOf(logout('ory_st_nothing'))).status).toBe(403);
  });

  it('lists and ends the other sessions of a person, and nobody else’s', async () => {
    const me = await createPerson(app);
    const sign = async (who: PersonWithPassword) => {
      const { data: flow } = await ory.createNativeLoginFlow();
      const body = { method: 'password' as const, identifier: who.email, password: who.password };
      const { data } = await ory.updateLoginFlow({ flow: flow.id, updateLoginFlowBody: body });
      return { xSessionToken: data.session_token ?? '', id: data.session.id };
    };
    const [first, second, third] = [await sign(me), await sign(me), await sign(me)];
    const stranger = await sign(person);
    const list = async () => (await ory.listMySessions(first)).data.map(({ id }) => id).sort();
    expect(await list()).toEqual([second.id, third.id].sort());
    expect((await ory.disableMySession({ ...first, id: second.id })).status).toBe(204);
    expect(await list()).toEqual([third.id]);
    expect((await failureOf(ory.disableMySession({ ...first, id: stranger.id }))).status).toBe(404);
    expect((await failureOf(ory.disableMySession({ ...first, id: first.id }))).status).toBe(400);
    expect((await ory.disableMyOtherSessions(first)).data.count).toBe(1);
    expect((await failureOf(ory.toSession(third))).status).toBe(401);
    expect((await ory.toSession(stranger)).status).toBe(200);
  });

  it('needs same-origin proof to end sessions by cookie', async () => {
    const { jar } = await signInWithBrowser();
    const forged = await failureOf(ory.disableMyOtherSessions({ cookie: jar.header() }));
    expect([forged.status, forged.data.error?.id]).toEqual([403, 'security_csrf_violation']);
  });

  it('writes who signed in and who failed into their own organization, with the request’s correlation id', async () => {
    const { data: flow } = await ory.createNativeLoginFlow();
    const submit = (password: string, identifier: string, id: string) =>
      ory.updateLoginFlow(
        { flow: flow.id, updateLoginFlowBody: { method: 'password', identifier, password } },
        correlated(id),
      );
    const wrong = await failureOf(submit('wrong password', person.email, 'login-failed'));
    expect(wrong.headers['x-request-id']).toBe('login-failed');
    await failureOf(submit('wrong password', 'stranger@people.test', 'login-unknown'));
    await submit(person.password, person.email, 'login-good');
    const by = { actor_kind: 'user', actor_user_id: person.userId, org_id: person.orgId, source: 'api' };
    expect(await eventsOf(app, 'login-failed')).toMatchObject([
      {
        ...by,
        event_type: 'identity.login_failed',
        outcome: 'failed',
        details: { reason: 'wrong_password' },
      },
    ]);
    expect(await eventsOf(app, 'login-good')).toMatchObject([
      { ...by, event_type: 'identity.login_succeeded', outcome: 'succeeded' },
    ]);
    const [unknown, ...more] = await eventsOf(app, 'login-unknown');
    expect(more).toEqual([]);
    expect(unknown?.actor_user_id).toBeNull();
    expect(unknown?.details).toEqual({ reason: 'unknown_address' });
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventsOf, identityBase } from '../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import { rootAdminId, rootOrgId, testPepper } from '../../test/support/test-world.ts';
import { createRegistrationCode } from './accounts.ts';

interface Flow {
  readonly id: string;
  readonly ui: {
    readonly messages?: { readonly id: number }[];
    readonly nodes: { readonly attributes: { readonly name: string }; readonly messages: { id: number }[] }[];
  };
}

describe('registration', () => {
  let app: TestApp;
  let admin: string;

  beforeAll(async () => {
    app = await startTestApp();
    admin = (await app.world.key(rootOrgId, rootAdminId)).token;
  });
  afterAll(() => app.close());

  async function invite(email: string) {
    const orgId = await app.world.org();
    const answer = await app.request('POST', `/orgs/${orgId}/invitations`, {
      token: admin,
      body: { email, default_roles: ['entities:list'] },
    });
    expect(answer.status, answer.text).toBe(201);
    const { redeem_url, pin } = answer.body as unknown as { redeem_url: string; pin: string };
    const token = new URLSearchParams(new URL(redeem_url).hash.slice(1)).get('token') ?? '';
    return { orgId, token, pin };
  }

  async function register(email: string, code: string, options: { password?: string; name?: string } = {}) {
    const begun = await app.app.http.inject('/identity/self-service/registration/api');
    const answer = await app.app.http.inject({
      method: 'POST',
      url: `/identity/self-service/registration?flow=${begun.json<Flow>().id}`,
      headers: { 'x-correlation-id': `register ${email}` },
      payload: {
        method: 'password',
        password: options.password ?? 'a long enough secret',
        traits: { email, name: options.name ?? 'Newcomer' },
        transient_payload: { code },
      },
    });
    return { status: answer.statusCode, body: answer.json<Flow & { session_token?: string }>() };
  }

  const messagesOf = ({ ui }: Flow) => [
    ...(ui.messages ?? []).map(({ id }) => ['', id]),
    ...ui.nodes.flatMap(({ attributes, messages }) => messages.map(({ id }) => [attributes.name, id])),
  ];
  const auth = (token = '') => ({ headers: { 'x-session-token': token } });

  it('takes an invited person in, who is provisioned only by redeeming with the PIN', async () => {
    const email = 'invited@people.test';
    const { orgId, token, pin } = await invite(email);
    const { status, body } = await register('Invited@People.test', token);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      session: { active: true },
      identity: { traits: { email, name: 'Newcomer' }, verifiable_addresses: [{ verified: false }] },
    });
    const session = auth(body.session_token);
    expect((await app.request('GET', '/auth/session', session)).body).toMatchObject({ active: true });
    expect((await app.request('GET', '/auth/provisioned', session)).status).toBe(401);
    const redeemed = await app.request('POST', '/invitations/redeem', { ...session, body: { token, pin } });
    expect(redeemed.status, redeemed.text).toBe(200);
    expect((await app.request('GET', '/auth/provisioned', session)).status).toBe(204);
    expect(await eventsOf(app, 'register Invited@People.test')).toMatchObject([
      { event_type: 'identity.login_succeeded', org_id: orgId, details: { method: 'registration' } },
    ]);
  });

  it('is closed without a valid code, and to other addresses than the invited one', async () => {
    const { token } = await invite('somebody@people.test');
    const cases = [
      [await register('somebody@people.test', 'no-such-code'), ['transient_payload.code', 4000001]],
      [await register('somebody@people.test', ''), ['transient_payload.code', 4000002]],
      [await register('other@people.test', token), ['traits.email', 4000001]],
      [await register('not an address', token), ['traits.email', 4000004]],
      [await register('somebody@people.test', token, { password: 'short' }), ['password', 4000032]],
      [await register('somebody@people.test', token, { password: 'somebody1' }), ['password', 4000031]],
      [await register('somebody@people.test', token, { name: 'a\u202Eb' }), ['traits.name', 4000001]],
    ] as const;
    for (const [{ status, body }, message] of cases) {
      expect(status).toBe(400);
      expect(messagesOf(body)).toEqual([message]);
    }
    const made = await app.db.query("select 1 from identity.identities where email like '%body@people.test'");
    expect(made).toEqual([]);
  });

  it('never gives an address away that belongs to a user', async () => {
    const email = 'taken@people.test';
    const orgId = await app.world.org();
    const body = { name: 'T', email, password: 'a long enough secret', roles: { [orgId]: ['admin'] } };
    expect((await app.request('POST', '/users', { token: admin, org: orgId, body })).status).toBe(201);
    const { token } = await invite(email);
    const refused = await register(email, token);
    expect(refused.status).toBe(400);
    expect(messagesOf(refused.body)).toEqual([['', 4000007]]);
  });

  it('lets an identity that nobody redeemed give way, with its sessions', async () => {
    const email = 'twice@people.test';
    const first = await register(email, (await invite(email)).token);
    const second = await register(email, (await invite(email)).token);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect((await app.request('GET', '/auth/session', auth(first.body.session_token))).body).toBeNull();
    expect((await app.request('GET', '/auth/session', auth(second.body.session_token))).body).not.toBeNull();
  });

  it('takes a user with a first-run code in at once, and the code once', async () => {
    const email = 'operator@people.test';
    const userId = await app.world.user({ email });
    const code = await app.app.db.asService((tx) =>
      createRegistrationCode({ pepper: testPepper }, tx, { userId, email }),
    );
    const answers = await Promise.all([register(email, code), register(email, code)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const winner = answers.find(({ status }) => status === 200);
    const me = await app.request('GET', '/me/profile', auth(winner?.body.session_token));
    expect(me.body).toMatchObject({ user_id: userId, email });
  });

  it('shows a form to a browser, keeps the code out of what is stored, and goes on after a form’s post', async () => {
    const email = 'browser@people.test';
    const { token } = await invite(email);
    const started = await app.app.http.inject(`/identity/self-service/registration/browser?code=${token}`);
    expect(started.statusCode).toBe(303);
    const location = String(started.headers.location);
    expect(location.startsWith(`${identityBase}/ui/registration?flow=`)).toBe(true);
    const stored = await app.db.query<{ request_url: string }>('select request_url from identity.flows');
    expect(JSON.stringify(stored)).not.toContain(token);
    const cookie = String(started.headers['set-cookie']).split(';')[0] ?? '';
    const page = await app.app.http.inject({ url: location, headers: { cookie } });
    expect(page.body).toContain(`name="transient_payload.code" value="${token}"`);
    const form = {
      csrf_token: /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '',
      method: 'password',
      password: 'a long enough secret',
      'traits.email': email,
      'transient_payload.code': token,
    };
    const done = await app.app.http.inject({
      method: 'POST',
      url: /action="([^"]+)"/.exec(page.body)?.[1] ?? '',
      headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(form).toString(),
    });
    expect([done.statusCode, done.headers.location]).toEqual([303, '/']);
    expect(String(done.headers['set-cookie'])).toMatch(/^ory_kratos_session=/);
  });
});

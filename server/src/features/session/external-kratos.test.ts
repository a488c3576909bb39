import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KratosPeer, startKratosPeer } from '../../../test/support/peers/kratos-peer.ts';
import { eventsOf } from '../../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootOrgId, testPublicUrl } from '../../../test/support/test-world.ts';

describe('a real Kratos at IDENTITY_URL', () => {
  let peer: KratosPeer;
  let app: TestApp;
  let open: TestApp;

  beforeAll(async () => {
    peer = await startKratosPeer();
    app = await startTestApp({ env: { IDENTITY_URL: `${peer.url}/` } });
    open = await startTestApp({ env: { IDENTITY_URL: peer.url, LINTEL_SELF_SIGNUP: 'true' } });
  });
  afterAll(async () => {
    await app.close();
    await open.close();
    await peer.close();
  });

  const profile = (node: TestApp, session: { cookie: string }) =>
    node.request('GET', '/me/profile', { headers: { cookie: session.cookie } });

  it('passes its session record on as it is, by cookie and by token', async () => {
    const session = peer.signIn({ email: 'ann@ext.test', name: 'Ann' });
    const byCookie = await app.request('GET', '/auth/session', {
      headers: { cookie: `x=1; ${session.cookie}` },
    });
    expect(byCookie.body).toMatchObject({
      active: true,
      identity: { id: session.identityId, traits: { email: 'ann@ext.test', name: 'Ann' } },
      devices: [{ user_agent: 'test' }],
    });
    const byToken = await app.request('GET', '/auth/whoami', { token: session.token });
    expect(byToken.body).toMatchObject({ active: true, identity: { id: session.identityId } });
  });

  it('is null for 401 and 403 there, and 503 when it does not work', async () => {
    const half = peer.signIn({ email: 'half@ext.test', needsSecondFactor: true });
    for (const cookie of ['ory_kratos_session=unknown', half.cookie]) {
      const answer = await app.request('GET', '/auth/session', { headers: { cookie } });
      expect([answer.status, answer.text]).toEqual([200, 'null']);
    }
    for (const mode of ['error', 'not_json', 'hang'] as const) {
      peer.fail(mode);
      const answer = await app.request('GET', '/auth/session', { headers: { cookie: half.cookie } });
      expect([answer.status, answer.body.code]).toEqual([503, 'unavailable']);
    }
    peer.fail(null);
  });

  it('asks nobody without a cookie or token, and serves no provider of its own', async () => {
    peer.fail('error');
    expect((await app.request('GET', '/auth/session')).text).toBe('null');
    peer.fail(null);
    expect((await app.app.http.inject('/identity/self-service/login/browser')).statusCode).toBe(404);
  });

  it('does not know a stranger, unless self-signup is on', async () => {
    const session = peer.signIn({ email: 'stranger@ext.test', verified: true });
    expect((await profile(app, session)).status).toBe(401);
    const headers = { cookie: session.cookie };
    expect((await app.request('GET', '/auth/provisioned', { headers })).status).toBe(401);
    expect((await app.request('GET', '/auth/session', { headers })).body).toMatchObject({ active: true });
  });

  it('links a verified address to the user who has it, once and with an event', async () => {
    const orgId = await app.world.org();
    const userId = await app.world.user({ email: 'known@ext.test' });
    await app.world.grant(orgId, userId, 'admin');
    const session = peer.signIn({ email: 'Known@Ext.test', verified: true });
    const headers = { cookie: session.cookie, 'x-correlation-id': 'link-known' };
    const first = await app.request('GET', '/me/profile', { headers });
    expect(first.body).toMatchObject({ user_id: userId, roles: { [orgId]: ['admin'] } });
    await app.request('GET', '/me/profile', { headers });
    expect(await eventsOf(app, 'link-known')).toMatchObject([
      { event_type: 'user.provisioned', org_id: orgId, actor_user_id: userId, details: { how: 'linked' } },
    ]);
    const second = peer.signIn({ email: 'known@ext.test', verified: true });
    expect((await profile(app, second)).status).toBe(401);
  });

  it('gives nobody’s account to an address that is only claimed', async () => {
    const userId = await open.world.user({ email: 'victim@ext.test' });
    const claimed = peer.signIn({ email: 'victim@ext.test', verified: false });
    const me = await profile(open, claimed);
    expect(me.body.user_id).not.toBe(userId);
    expect(me.body.email).toMatch(/@users\.invalid$/);
    expect((await profile(app, claimed)).status).toBe(401);
  });

  it('gives a stranger a user and a personal organization, also when requests come at once', async () => {
    const session = peer.signIn({
      email: 'new@ext.test',
      verified: true,
      name: { first: 'New', last: 'One' },
    });
    const headers = { cookie: session.cookie, 'x-correlation-id': 'sign-up' };
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => open.request('GET', '/me/profile', { headers })),
    );
    const ids = new Set(answers.map(({ body }) => body.user_id));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(ids.size).toBe(1);
    const me = answers[0]?.body as unknown as { user_id: string; roles: Record<string, string[]> };
    expect(me).toMatchObject({ name: { en: 'New One' }, email: 'new@ext.test' });
    const [orgId = ''] = Object.keys(me.roles);
    expect(me.roles).toEqual({ [orgId]: ['admin'] });
    const orgs = await open.db.query('select parent_id, path, is_personal from orgs where id = $1', [orgId]);
    expect(orgs).toEqual([{ parent_id: rootOrgId, path: [rootOrgId, orgId], is_personal: true }]);
    expect(await eventsOf(open, 'sign-up')).toMatchObject([
      {
        event_type: 'user.provisioned',
        org_id: orgId,
        actor_user_id: me.user_id,
        details: { how: 'signed_up' },
      },
    ]);
  });

  it('keeps a deleted user out although the session goes on there', async () => {
    const session = peer.signIn({ email: 'leaver@ext.test', verified: true });
    const me = await profile(open, session);
    await open.db.query('update users set deleted_at = now() where id = $1', [me.body.user_id]);
    expect((await profile(open, session)).status).toBe(401);
  });

  it('logs out there, passes its cookies on and clears ours', async () => {
    const session = peer.signIn({ email: 'out@ext.test', verified: true });
    const cookie = `${session.cookie}; csrf_token_k=1`;
    await profile(open, session);
    const answer = await open.request('POST', '/auth/logout', {
      headers: { cookie, origin: testPublicUrl, 'x-correlation-id': 'external-logout' },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers['set-cookie']).toEqual([
      'ory_kratos_session=; Path=/; Domain=example.test; Max-Age=0; HttpOnly',
      'ory_kratos_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
      'csrf_token_k=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax',
    ]);
    expect(peer.isActive(session)).toBe(false);
    expect(await eventsOf(open, 'external-logout')).toMatchObject([
      { event_type: 'identity.logged_out', details: { issuer: peer.url } },
    ]);
    const native = peer.signIn({ email: 'native@ext.test' });
    expect((await open.request('POST', '/auth/sign-out', { token: native.token })).status).toBe(204);
    expect(peer.isActive(native)).toBe(false);
  });

  it('keeps no passwords', async () => {
    const admin = await app.world.key(rootOrgId, await rootAdmin(app));
    const body = { name: 'P', email: 'p@ext.test', password: 'a long enough secret' };
    const refused = await app.request('POST', '/users', { token: admin.token, org: rootOrgId, body });
    expect([refused.status, refused.body.details?.[0]?.path]).toEqual([400, '/password']);
  });
});

async function rootAdmin(app: TestApp): Promise<string> {
  const [row] = await app.db.query<{ user_id: string }>(
    "select user_id from role_grants where org_id = $1 and role = 'admin'",
    [rootOrgId],
  );
  return row?.user_id ?? '';
}

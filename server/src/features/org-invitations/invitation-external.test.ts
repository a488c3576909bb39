import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';

/** As much of Ory Kratos as a session look-up needs: the session token is the person's address, never verified. */
function startKratos(): Promise<Server> {
  const server = createServer((request, response) => {
    const email = String(request.headers['x-session-token']).replace('ory_st_', '');
    const identity = { id: `identity of ${email}`, traits: { email } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: `session of ${email}`, active: true, identity }));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

describe('invitations with an external identity provider', () => {
  let kratos: Server;
  let app: TestApp;
  let orgId: string;
  let admin: string;

  beforeAll(async () => {
    kratos = await startKratos();
    const { port } = kratos.address() as AddressInfo;
    app = await startTestApp({ env: { IDENTITY_URL: `http://127.0.0.1:${port}` } });
    orgId = await app.world.org();
    const adminId = await app.world.user();
    await app.world.grant(orgId, adminId, 'admin');
    admin = (await app.world.key(orgId, adminId)).token;
  });
  afterAll(async () => {
    await app.close();
    kratos.close();
  });

  async function join(email: string) {
    const invited = await app.request('POST', `/orgs/${orgId}/invitations`, {
      token: admin,
      body: { email },
    });
    const { redeem_url, pin } = invited.body as unknown as { redeem_url: string; pin: string };
    return app.request('POST', '/invitations/redeem', {
      headers: { 'x-session-token': `ory_st_${email}` },
      body: { token: redeem_url.split('#token=')[1], pin },
    });
  }
  const linkOf = (email: string) =>
    app.db.query('select user_id from user_identities where subject = $1', [`identity of ${email}`]);

  it('make users, and a deleted one who is invited again starts anew with the same identity', async () => {
    const first = await join('ada@example.org');
    expect(first.status, first.text).toBe(200);
    expect(await linkOf('ada@example.org')).toEqual([{ user_id: first.body.user_id }]);
    const deleted = await app.request('DELETE', `/users/${first.body.user_id}`, { token: admin });
    expect(deleted.status).toBe(200);
    const second = await join('ada@example.org');
    expect(second.status, second.text).toBe(200);
    expect(second.body.user_id).not.toBe(first.body.user_id);
    expect(await linkOf('ada@example.org')).toEqual([{ user_id: second.body.user_id }]);
  });

  it('do not hand over a user whom another identity stands for', async () => {
    const joined = await join('grace@example.org');
    const change = 'update user_identities set subject = $2 where user_id = $1';
    await app.db.query(change, [joined.body.user_id, 'another identity']);
    const answer = await join('grace@example.org');
    expect([answer.status, answer.body.code]).toEqual([409, 'already_exists']);
  });

  it('leave passwords to that provider', async () => {
    const body = {
      name: 'Ada',
      email: 'p@example.org',
      password: 'correct horse',
      roles: { roles: ['execute'] },
    };
    const answer = await app.request('POST', '/users', { token: admin, body });
    expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, '/password']);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signIn } from '../../../test/support/scenario-signin.ts';
import { type RequestOptions, startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';

describe('API keys', () => {
  let app: TestApp;
  let admin: string;

  beforeAll(async () => {
    app = await startTestApp();
    admin = (await app.world.key(rootOrgId, rootAdminId)).token;
  });
  afterAll(() => app.close());

  const create = async (body: object = {}) => {
    const answer = await app.request('POST', '/api-keys', {
      token: admin,
      body: { name: 'k', expires_in: '1d', ...body },
    });
    expect(answer.status, answer.text).toBe(201);
    return answer.body as { id: string; token: string; token_suffix: string };
  };
  const list = (token: string) => app.request('GET', '/api-keys', { token });

  it('shows the token once and never again', async () => {
    const key = await create({ name: 'shown once' });
    const listed = await app.request('GET', '/api-keys', { token: admin });
    expect(key.token).toMatch(/^http:\/\/localhost:8080\/api\/v1_service_[\w-]{43}$/);
    expect(listed.text).toContain('shown once');
    expect(listed.text).not.toContain(key.token.slice(-43));
  });

  it('revoked key returns 401 at once, on a second node too', async () => {
    const key = await create();
    const second = await app.secondNode();
    expect((await list(key.token)).status).toBe(200);
    expect((await second.request('GET', '/api-keys', { token: key.token })).status).toBe(200);
    expect((await app.request('DELETE', `/api-keys/${key.id}`, { token: admin })).status).toBe(204);
    expect((await list(key.token)).status).toBe(401);
    expect((await second.request('GET', '/api-keys', { token: key.token })).status).toBe(401);
    await second.close();
  });

  it('follows the state table of interface 3.1', async () => {
    const key = await create();
    const act = async (method: 'POST' | 'DELETE', suffix: string) => {
      const answer = await app.request(method, `/api-keys/${key.id}${suffix}`, { token: admin });
      return [answer.status, answer.body?.code ?? null];
    };
    expect(await act('POST', '/restore')).toEqual([409, 'key_not_revoked']);
    expect(await act('DELETE', '/purge')).toEqual([409, 'key_not_revoked']);
    expect(await act('DELETE', '')).toEqual([204, null]);
    expect(await act('POST', '/restore')).toEqual([204, null]);
    expect((await list(key.token)).status).toBe(200);
    expect(await act('DELETE', '')).toEqual([204, null]);
    await app.db.query("update api_keys set expires_at = now() - interval '1 s' where id = $1", [key.id]);
    expect(await act('POST', '/restore')).toEqual([409, 'key_expired']);
    expect(await act('DELETE', '/purge')).toEqual([204, null]);
    expect(await act('DELETE', '/purge')).toEqual([404, 'not_found']);
  });

  it('can be shortened by itself, but prolonged only by a person or by another key of an administrator', async () => {
    const own = await create();
    const [first, second] = [
      await create({ scoped_roles: ['api_keys:create'] }),
      await create({ scoped_roles: ['api_keys:create'] }),
    ];
    const patch = async (id: string, caller: RequestOptions, expires_in: string) => {
      const body = { name: 'k', expires_in };
      const answer = await app.request('PATCH', `/api-keys/${id}`, { ...caller, body });
      return [answer.status, answer.body?.code ?? null];
    };
    expect(await patch(own.id, { token: own.token }, '12h')).toEqual([204, null]);
    expect(await patch(own.id, { token: own.token }, '13h')).toEqual([403, 'forbidden']);
    expect(await patch(second.id, { token: first.token }, '2d')).toEqual([403, 'forbidden']);
    expect(await patch(own.id, { token: admin }, '2d')).toEqual([204, null]);
    const headers = await signIn(app, rootAdminId);
    expect(await patch(own.id, { org: rootOrgId, headers }, '3d')).toEqual([204, null]);
  });
});

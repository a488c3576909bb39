import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

interface UserBody {
  readonly id: string;
  readonly email: string;
  readonly roles: Record<string, string[]>;
}

let app: TestApp;
let platform: string;
let orgId: string;
let adminId: string;
let admin: string;

beforeAll(async () => {
  app = await startTestApp();
  platform = (await app.world.key(rootOrgId, rootAdminId)).token;
  orgId = await app.world.org();
  adminId = await app.world.user();
  await app.world.grant(orgId, adminId, 'admin');
  admin = (await app.world.key(orgId, adminId)).token;
});
afterAll(() => app.close());

const address = () => `${ulid().toLowerCase()}@example.org`;
const create = (token: string, body: object) =>
  app.request('POST', '/users', { token, body: { name: 'Ada', ...body } });
const member = async (...roles: string[]) => {
  const id = await app.world.user();
  await app.world.grant(orgId, id, ...(roles.length === 0 ? ['entities:list'] : roles));
  return id;
};
const keyOf = async (...roles: string[]) => (await app.world.key(orgId, await member(...roles))).token;
const eventsOf = (resourceId: string) =>
  app.db.query<{ org_id: string; event_type: string; outcome: string; details: object }>(
    'select org_id, event_type, outcome, details from audit_events where resource_id = $1 order by occurred_at',
    [resourceId],
  );

describe('creating a user', () => {
  it('gives roles, shows the user and writes one event', async () => {
    const email = address();
    const answer = await create(admin, {
      name: 'Grace',
      email: `  ${email.toUpperCase()} `,
      phone: '+4312345678',
      roles: { [orgId]: ['entities:list', 'entities:list'] },
    });
    expect(answer.status, answer.text).toBe(201);
    expect(answer.body).toMatchObject({
      name: { en: 'Grace' },
      email,
      email_is_synthetic: false,
      phone: '+4312345678',
      roles: { [orgId]: ['entities:list'] },
    });
    const { id } = answer.body as unknown as UserBody;
    expect(await eventsOf(id)).toMatchObject([
      { org_id: orgId, event_type: 'user.created', details: { roles: { [orgId]: ['entities:list'] } } },
    ]);
    const read = await app.request('GET', `/users/${id}`, { token: admin });
    expect(read.body).toEqual(answer.body);
  });

  it('makes up an address for people known by phone only, and reserves such addresses', async () => {
    const id = ulid();
    const answer = await create(admin, { id, phone: '+4399', roles: { [orgId]: ['entities:list'] } });
    expect(answer.status).toBe(400);
    const good = await create(admin, { id, phone: '+43991234', roles: { [orgId]: ['entities:list'] } });
    expect(good.body).toMatchObject({ id, email: `${id}@phone.lintel.local`, email_is_synthetic: true });
    const squatter = { email: `${ulid()}@phone.lintel.local`, roles: { [orgId]: ['entities:list'] } };
    expect((await create(admin, squatter)).status).toBe(400);
  });

  it.each([
    ['neither email nor phone', {}],
    ['an address that is none', { email: 'no at sign' }],
    ['a name with a control character', { name: 'A\u0000da', email: 'x@y.z' }],
    ['an unknown role', { email: 'x@y.z', roles: { roles: ['root'] } }],
    ['a role named like a member of every object', { email: 'x@y.z', roles: { roles: ['constructor'] } }],
    ['an organization id that is none', { email: 'x@y.z', roles: { nowhere: ['admin'] } }],
    ['an empty list of roles', { email: 'x@y.z', roles: { roles: [] } }],
    ['a password for somebody without address', { phone: '+43991234', password: 'correct horse' }],
    ['an unknown member', { email: 'x@y.z', is_admin: true }],
  ])('refuses %s with 400', async (_, body) => {
    const answer = await create(platform, body);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
  });

  it('refuses an id or address in use, of a purged user too, and tells nothing about whose it is', async () => {
    const elsewhere = await app.world.org();
    const stranger = await app.world.user({ email: 'stranger@example.org' });
    await app.world.grant(elsewhere, stranger, 'admin');
    const roles = { [orgId]: ['entities:list'] };
    const byEmail = await create(admin, { email: 'Stranger@Example.org', roles });
    const byId = await create(admin, { id: stranger, email: address(), roles });
    for (const answer of [byEmail, byId]) {
      expect(answer.body).toMatchObject({
        code: 'already_exists',
        message: 'a user with this id or address exists',
      });
    }
    expect((await app.request('DELETE', `/users/${stranger}/purge`, { token: platform })).status).toBe(200);
    expect((await create(admin, { id: stranger, email: address(), roles })).status).toBe(409);
    expect((await create(admin, { email: 'stranger@example.org', roles })).status).toBe(201);
  });

  it('without roles is for platform administrators', async () => {
    expect((await create(admin, { email: address() })).status).toBe(403);
    const answer = await create(platform, { email: address() });
    expect(answer.status).toBe(201);
    const { id } = answer.body as unknown as UserBody;
    expect((await app.request('GET', `/users/${id}`, { token: platform })).status).toBe(200);
    expect((await app.request('GET', `/users/${id}`, { token: admin })).status).toBe(404);
  });

  it('gives only what the creator holds, in organizations the creator manages', async () => {
    const clerk = await keyOf('users:create', 'zones:list');
    const elsewhere = await app.world.org();
    const below = await app.world.org({ parentId: orgId });
    const tries = async (token: string, roles: object) =>
      (await create(token, { email: address(), roles })).status;
    expect(await tries(clerk, { [orgId]: ['zones:list'] })).toBe(201);
    expect(await tries(clerk, { [orgId]: ['zones:read'] })).toBe(403);
    expect(await tries(clerk, { [orgId]: ['admin'] })).toBe(403);
    expect(await tries(clerk, { [orgId]: ['zones:list'], [below]: ['zones:list'] })).toBe(403);
    expect(await tries(admin, { [orgId]: ['zones:read'], [below]: ['admin'] })).toBe(201);
    const foreign = await create(admin, { email: address(), roles: { [elsewhere]: ['zones:list'] } });
    const absent = await create(admin, { email: address(), roles: { [ulid()]: ['zones:list'] } });
    expect(foreign.body).toMatchObject({ code: 'forbidden', message: absent.body.message });
  });
});

describe('changing a user', () => {
  const update = (token: string, id: string, body: object) =>
    app.request('PUT', `/users/${id}`, { token, body });

  it('changes what is given, leaves the rest, and says in the event which', async () => {
    const id = await member();
    const email = address();
    const answer = await update(admin, id, { email, name: null });
    expect(answer.body).toMatchObject({ email, name: { en: 'User' }, phone: null });
    expect((await update(admin, id, { phone: '+43123456' })).body).toMatchObject({
      email,
      phone: '+43123456',
    });
    expect((await update(admin, id, { phone: null })).body).toMatchObject({ phone: null });
    const details = (await eventsOf(id)).map((event) => event.details);
    expect(details).toMatchObject([{ changed: ['email'] }, { changed: ['phone'] }, { changed: ['phone'] }]);
  });

  it('keeps the phone of somebody known by nothing else', async () => {
    const made = await create(admin, { phone: '+43991235', roles: { [orgId]: ['entities:list'] } });
    const { id } = made.body as unknown as UserBody;
    expect((await update(admin, id, { phone: null })).status).toBe(400);
    const answer = await update(admin, id, { phone: null, email: address() });
    expect(answer.body).toMatchObject({ email_is_synthetic: false, phone: null });
  });

  it('refuses an address in use', async () => {
    const other = await app.world.user();
    const answer = await update(admin, await member(), { email: `${other.toLowerCase()}@users.test` });
    expect([answer.status, answer.body.code]).toEqual([409, 'already_exists']);
  });

  it('leaves the addresses of people who belong elsewhere to those who administer that too', async () => {
    const id = await member();
    const elsewhere = await app.world.org();
    await app.world.grant(elsewhere, id, 'zones:list');
    const refused = await update(admin, id, { email: address() });
    expect([refused.status, refused.body.code]).toEqual([409, 'user_in_other_orgs']);
    expect((await update(admin, id, { name: 'Renamed' })).status).toBe(200);
    const byPlatform = await app.request('PUT', `/users/${id}`, {
      token: platform,
      org: orgId,
      body: { email: address() },
    });
    expect(byPlatform.status).toBe(200);
  });

  it('does not let a clerk take over an administrator by changing the address', async () => {
    const clerk = await keyOf('users:update', 'users:delete');
    const boss = await member('admin');
    expect((await update(clerk, boss, { email: address() })).status).toBe(403);
    expect((await app.request('DELETE', `/users/${boss}`, { token: clerk })).status).toBe(403);
    expect((await app.request('DELETE', `/users/${boss}/purge`, { token: clerk })).status).toBe(403);
    expect((await update(clerk, await member(), { email: address() })).status).toBe(200);
  });
});

describe('the life of a user', () => {
  const act = async (token: string, method: 'POST' | 'DELETE', id: string, suffix = '') => {
    const answer = await app.request(method, `/users/${id}${suffix}`, { token });
    return [answer.status, answer.body.code ?? null];
  };

  it('ends their keys and agents at once when deleted, and not for good', async () => {
    const id = await member('api_keys:create', 'agents:manage');
    const key = (await app.world.key(orgId, id)).token;
    const agentId = await app.world.agent(orgId, id);
    const credential = (await app.world.key(orgId, id, { agentId })).token;
    const status = async () => [
      (await app.request('GET', '/api-keys', { token: key })).status,
      (await app.request('GET', '/orgs', { token: credential })).status,
    ];
    expect(await status()).toEqual([200, 200]);
    expect(await act(admin, 'DELETE', id)).toEqual([200, null]);
    expect(await status()).toEqual([401, 401]);
    expect(await act(admin, 'POST', id, '/restore')).toEqual([200, null]);
    expect(await status()).toEqual([200, 200]);
  });

  it('hides the deleted unless asked for them', async () => {
    const id = await member();
    await act(admin, 'DELETE', id);
    expect((await app.request('GET', `/users/${id}`, { token: admin })).status).toBe(404);
    const shown = await app.request('GET', `/users/${id}?include_deleted=true`, { token: admin });
    expect(shown.body).toMatchObject({ id, deleted_at: expect.any(String) });
    expect(await act(admin, 'DELETE', id)).toEqual([404, 'not_found']);
    expect((await app.request('PUT', `/users/${id}`, { token: admin, body: {} })).status).toBe(404);
  });

  it('restores only the deleted, and only while their address is free', async () => {
    const id = await member();
    expect(await act(admin, 'POST', id, '/restore')).toEqual([422, 'not_deleted']);
    const [row] = await app.db.query<{ email: string }>('select email from users where id = $1', [id]);
    await act(admin, 'DELETE', id);
    const successor = await app.world.user({ email: row?.email ?? '' });
    expect(await act(admin, 'POST', id, '/restore')).toEqual([409, 'already_exists']);
    await app.db.query('delete from users where id = $1', [successor]);
    expect(await act(admin, 'POST', id, '/restore')).toEqual([200, null]);
  });

  it('purges the user with all that is theirs, and keeps the audit', async () => {
    const id = await member();
    await app.world.key(orgId, id);
    const agentId = await app.world.agent(orgId, id);
    await app.world.key(orgId, id, { agentId });
    const purged = await app.request('DELETE', `/users/${id}/purge`, { token: admin });
    expect(purged.body).toMatchObject({ id, roles: { [orgId]: ['entities:list'] } });
    const left = await app.db.query(
      `select (select count(*) from users where id = $1) + (select count(*) from role_grants where user_id = $1)
         + (select count(*) from api_keys where created_by_user_id = $1)
         + (select count(*) from agents where owner_user_id = $1) as rows`,
      [id],
    );
    expect(left).toEqual([{ rows: '0' }]);
    expect(await eventsOf(id)).toMatchObject([{ event_type: 'user.purged', org_id: orgId }]);
    expect(await act(admin, 'DELETE', id, '/purge')).toEqual([404, 'not_found']);
  });

  it('of people who belong elsewhere is not for one organization to end or begin', async () => {
    const id = await member();
    const elsewhere = await app.world.org();
    await app.world.grant(elsewhere, id, 'zones:list');
    const refused = [409, 'user_in_other_orgs'];
    expect(await act(admin, 'DELETE', id)).toEqual(refused);
    expect(await act(admin, 'DELETE', id, '/purge')).toEqual(refused);
    expect(await act(platform, 'DELETE', id)).toEqual([200, null]);
    expect(await act(admin, 'POST', id, '/restore')).toEqual(refused);
    expect(await act(platform, 'DELETE', id, '/purge')).toEqual([200, null]);
  });

  it('does not end for the last administrator of the root organization', async () => {
    expect(await act(platform, 'DELETE', rootAdminId)).toEqual([409, 'last_admin']);
    expect(await act(platform, 'DELETE', rootAdminId, '/purge')).toEqual([409, 'last_admin']);
    const second = await app.world.user();
    await app.world.grant(rootOrgId, second, 'admin');
    expect(await act(platform, 'DELETE', second)).toEqual([200, null]);
    expect(await act(platform, 'DELETE', rootAdminId)).toEqual([409, 'last_admin']);
    expect(await act(platform, 'POST', second, '/restore')).toEqual([200, null]);
    expect(await act(platform, 'DELETE', second, '/purge')).toEqual([200, null]);
    expect(await act(admin, 'DELETE', adminId)).toEqual([200, null]);
    expect(await act(platform, 'POST', adminId, '/restore')).toEqual([200, null]);
  });
});

import type { Organization } from '@lintel/contract/orgs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { findUserByIdentity } from '../../auth/principal.store.ts';
import type { Call } from '../../kernel/call.ts';
import { ulid } from '../../kernel/ulid.ts';
import { createOrgsService } from './orgs.service.ts';

const itemsOf = (answer: Answer) => answer.body.items as Organization[];
const names = (answer: Answer) => itemsOf(answer).map((org) => org.name.en);

/**
 * Root ┬ Alpha ─ Alpha One ─ Alpha Deep
 *      └ Beta ─ Beta One
 */
describe('what callers see of the tree', () => {
  let app: TestApp;
  let ids: Record<'alpha' | 'alphaOne' | 'alphaDeep' | 'beta' | 'betaOne', string>;
  let platform: string;
  let alphaAdmin: string;
  let alphaKey: string;
  const get = (token: string, path: string) => app.request('GET', path, { token });

  beforeAll(async () => {
    app = await startTestApp();
    const { world } = app;
    const alpha = await world.org({ name: 'Alpha' });
    const alphaOne = await world.org({ name: 'Alpha One', parentId: alpha });
    const alphaDeep = await world.org({ name: 'Alpha Deep', parentId: alphaOne });
    const beta = await world.org({ name: 'Beta' });
    const betaOne = await world.org({ name: 'Beta One', parentId: beta });
    ids = { alpha, alphaOne, alphaDeep, beta, betaOne };
    platform = (await world.key(rootOrgId, rootAdminId)).token;
    alphaAdmin = await world.user();
    await world.grant(alpha, alphaAdmin, 'admin');
    alphaKey = (await world.key(alpha, alphaAdmin)).token;
  });
  afterAll(() => app.close());

  /** A key of an organization whose creator holds just these roles there. */
  const keyWith = async (orgId: string, ...roles: string[]) => {
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, ...roles);
    return { userId, token: (await app.world.key(orgId, userId)).token };
  };
  const signedIn = async (userId: string): Promise<Call> => {
    await app.db.query(`insert into user_identities (issuer, subject, user_id) values ('test', $1, $1)`, [
      userId,
    ]);
    const found = await app.app.db.asService((tx) => findUserByIdentity(tx, 'test', userId));
    return {
      correlationId: ulid(),
      source: 'dashboard',
      principal: { kind: 'user', userId, sessionId: 's', grants: found?.grants ?? [] },
      session: null,
      ip: null,
      userAgent: null,
      idempotencyKey: null,
      confirmation: null,
    };
  };

  it('lists everything to a platform administrator, in the order of creation', async () => {
    const answer = await get(platform, '/orgs');
    expect(names(answer)).toEqual(['Root', 'Alpha', 'Alpha One', 'Alpha Deep', 'Beta', 'Beta One']);
    expect(answer.body.total).toBe(6);
    expect(itemsOf(answer)[0]).toMatchObject({ parent_id: null, is_personal: false, timezone: null });
    for (const org of itemsOf(answer)) {
      expect(org).not.toHaveProperty('has_children');
      expect(org).not.toHaveProperty('parent_name');
    }
  });

  it('pages with limit and offset', async () => {
    expect(names(await get(platform, '/orgs?limit=2&offset=1'))).toEqual(['Alpha', 'Alpha One']);
    const none = await get(platform, '/orgs?limit=0');
    expect([itemsOf(none).length, none.body.total]).toEqual([0, 6]);
  });

  it('lists the subtree to the key of an administrator', async () => {
    expect(names(await get(alphaKey, '/orgs'))).toEqual(['Alpha', 'Alpha One', 'Alpha Deep']);
  });

  it('lists only its own organization to a key without admin', async () => {
    const { token } = await keyWith(ids.alpha, 'orgs:read');
    expect(names(await get(token, '/orgs'))).toEqual(['Alpha']);
  });

  it('cuts a key to its scope, whatever its creator may do', async () => {
    const scoped = await app.world.key(ids.alphaOne, alphaAdmin, { scopedRoles: ['orgs:read'] });
    const whole = await app.world.key(ids.alphaOne, alphaAdmin);
    expect(names(await get(scoped.token, '/orgs'))).toEqual(['Alpha One']);
    expect((await get(scoped.token, `/orgs/${ids.alphaDeep}`)).status).toBe(404);
    expect(names(await get(whole.token, '/orgs'))).toEqual(['Alpha One', 'Alpha Deep']);
    expect((await get(whole.token, `/orgs/${ids.alpha}`)).status).toBe(404);
  });

  it('lists nothing to a key whose creator has lost every role', async () => {
    const { token, userId } = await keyWith(ids.beta, 'orgs:read');
    await app.db.query('delete from role_grants where user_id = $1', [userId]);
    expect((await get(token, '/orgs')).body).toEqual({ items: [], total: 0 });
    expect((await get(token, `/orgs/${ids.beta}`)).status).toBe(404);
  });

  it('lets agents list and read their own organization, and nothing else', async () => {
    const agentId = await app.world.agent(ids.alpha, alphaAdmin);
    const { token } = await app.world.key(ids.alpha, alphaAdmin, { agentId });
    expect(names(await get(token, '/orgs'))).toEqual(['Alpha']);
    const read = await get(token, `/orgs/${ids.alpha}`);
    expect([read.status, read.body.user_roles]).toEqual([200, { [alphaAdmin]: ['admin'] }]);
    await app.world.grant(ids.alpha, await app.world.user(), 'zones:list');
    expect((await get(token, `/orgs/${ids.alpha}`)).body.user_roles).toEqual({ [alphaAdmin]: ['admin'] });
    expect((await get(token, `/orgs/${ids.alphaOne}`)).status).toBe(404);
    const at = `/orgs/${ids.alpha}`;
    for (const [method, path, body] of [
      ['POST', '/orgs', { name: 'x', parent_id: ids.alpha }],
      ['GET', '/orgs/children'],
      ['GET', '/orgs/search?q=a'],
      ['PUT', at, {}],
      ['DELETE', at],
      ['POST', `${at}/restore`],
      ['DELETE', `${at}/purge`],
      ['GET', `${at}/ancestors`],
      ['GET', `${at}/permissions`],
    ] as const) {
      const answer = await app.request(method, path, { token, body });
      expect([method, path, answer.status]).toEqual([method, path, 403]);
    }
  });

  it('shows a person the organizations of all their roles, each as a root of its own', async () => {
    const userId = await app.world.user();
    await app.world.grant(ids.alphaOne, userId, 'admin');
    await app.world.grant(ids.alphaDeep, userId, 'orgs:read');
    await app.world.grant(ids.betaOne, userId, 'zones:list');
    const orgs = createOrgsService({ db: app.app.db });
    const call = await signedIn(userId);
    const options = { deletion: 'live', limit: 50, offset: 0 } as const;
    const listed = (await orgs.list(call, options)).items;
    expect(listed.map((org) => org.id)).toEqual([ids.alphaOne, ids.alphaDeep, ids.betaOne]);
    expect(listed.at(-1)?.userRoles).toEqual({ [userId]: ['zones:list'] });
    const roots = (await orgs.children(call, null, options)).items;
    expect(roots.map((org) => [org.id, org.hasChildren, org.parentName])).toEqual([
      [ids.alphaOne, true, null],
      [ids.betaOne, false, null],
    ]);
  });

  it('shows nothing to a person whose only organization was deleted', async () => {
    const gone = await app.world.org({ name: 'Gone' });
    const userId = await app.world.user();
    await app.world.grant(gone, userId, 'admin');
    await app.db.query('update orgs set deleted_at = now() where id = $1', [gone]);
    const orgs = createOrgsService({ db: app.app.db });
    const call = await signedIn(userId);
    const options = { deletion: 'all', limit: 50, offset: 0 } as const;
    const nothing = { items: [], total: 0 };
    expect(await orgs.list(call, options)).toEqual(nothing);
    expect(await orgs.children(call, null, options)).toEqual(nothing);
    expect(await orgs.search(call, 'Gone', options)).toEqual(nothing);
    await app.db.query('delete from orgs where id = $1', [gone]);
  });

  it('walks the tree by children, with parents and children only as far as they are seen', async () => {
    expect(names(await get(platform, '/orgs/children'))).toEqual(['Root']);
    const below = await get(platform, `/orgs/children?parent_id=${rootOrgId}`);
    expect(itemsOf(below).map((org) => [org.name.en, org.has_children, org.parent_name?.en])).toEqual([
      ['Alpha', true, 'Root'],
      ['Beta', true, 'Root'],
    ]);
    const roots = await get(alphaKey, '/orgs/children');
    expect(itemsOf(roots).map((org) => [org.name.en, org.has_children])).toEqual([['Alpha', true]]);
    expect(itemsOf(roots)[0]).not.toHaveProperty('parent_name');
    const leaf = await keyWith(ids.beta, 'orgs:list');
    const seen = itemsOf(await get(leaf.token, '/orgs/children'));
    expect(seen.map((org) => [org.name.en, org.has_children])).toEqual([['Beta', false]]);
    expect((await get(leaf.token, `/orgs/children?parent_id=${ids.beta}`)).body.total).toBe(0);
  });

  it('answers children of an unknown, malformed or foreign parent alike', async () => {
    const bodies = await Promise.all(
      [ids.beta, ulid(), 'x%01', 'nonsense'].map(async (parent) => {
        const answer = await get(alphaKey, `/orgs/children?parent_id=${parent}`);
        return [answer.status, answer.body.code, answer.body.message];
      }),
    );
    expect(new Set(bodies.map(String))).toEqual(new Set(['404,not_found,not found']));
  });

  it('searches names in every language, and exact ids, within sight', async () => {
    await app.db.query('update orgs set name = $2 where id = $1', [
      ids.betaOne,
      { en: 'Beta One', de: 'Zürich 100%' },
    ]);
    const found = async (token: string, q: string) =>
      names(await get(token, `/orgs/search?q=${encodeURIComponent(q)}`));
    expect(await found(platform, ' zÜRich ')).toEqual(['Beta One']);
    expect(await found(platform, 'Zu\u0308rich')).toEqual(['Beta One']);
    expect(await found(platform, '0%')).toEqual(['Beta One']);
    expect(await found(platform, '%')).toEqual(['Beta One']);
    expect(await found(platform, '_')).toEqual([]);
    expect(await found(platform, 'one')).toEqual(['Alpha One', 'Beta One']);
    expect(await found(alphaKey, 'one')).toEqual(['Alpha One']);
    expect(await found(platform, ids.beta)).toEqual(['Beta']);
    expect(await found(alphaKey, ids.beta)).toEqual([]);
    expect(await found(platform, ids.beta.slice(1))).toEqual([]);
    for (const q of ['', '   ', 'a\u0001', '\u202Ebeta']) expect(await found(platform, q)).toEqual([]);
    const hit = itemsOf(await get(platform, '/orgs/search?q=deep'))[0];
    expect([hit?.parent_name, hit?.has_children]).toEqual([{ en: 'Alpha One' }, false]);
  });

  it('lists the visible ancestors, root first', async () => {
    const path = (id: string) => `/orgs/${id}/ancestors`;
    const nameList = (answer: Answer) => (answer.body as unknown as Organization[]).map((org) => org.name.en);
    expect(nameList(await get(platform, path(ids.alphaDeep)))).toEqual(['Root', 'Alpha', 'Alpha One']);
    expect(nameList(await get(alphaKey, path(ids.alphaDeep)))).toEqual(['Alpha', 'Alpha One']);
    expect(nameList(await get(alphaKey, path(ids.alpha)))).toEqual([]);
  });

  it('tells the roles a caller holds, inherited ones too', async () => {
    const { token } = await keyWith(ids.beta, 'zones:list', 'execute');
    expect((await get(token, `/orgs/${ids.beta}/permissions`)).body).toEqual({
      permissions: ['execute', 'zones:list'],
    });
    const inherited = await get(alphaKey, `/orgs/${ids.alphaDeep}/permissions`);
    expect(inherited.body).toEqual({ permissions: ['admin'] });
  });

  it('shows everyone’s roles to those who may list users, others only their own', async () => {
    const org = await app.world.org();
    const plain = await keyWith(org, 'orgs:read', 'zones:list');
    const lister = await keyWith(org, 'orgs:read', 'users:list');
    const leaver = await keyWith(org, 'admin');
    await app.db.query('update users set deleted_at = now() where id = $1', [leaver.userId]);
    const rolesFor = async (token: string) => (await get(token, `/orgs/${org}`)).body.user_roles;
    const everyone = {
      [plain.userId]: ['orgs:read', 'zones:list'],
      [lister.userId]: ['orgs:read', 'users:list'],
    };
    expect(await rolesFor(plain.token)).toEqual({ [plain.userId]: ['orgs:read', 'zones:list'] });
    expect(await rolesFor(lister.token)).toEqual(everyone);
    expect(await rolesFor(platform)).toEqual(everyone);
    const listed = itemsOf(await get(platform, `/orgs/search?q=${org}`));
    expect(listed[0]?.user_roles).toEqual(everyone);
    const scoped = await app.world.key(org, lister.userId, { scopedRoles: ['orgs:read'] });
    expect(await rolesFor(scoped.token)).toEqual({ [lister.userId]: ['orgs:read'] });
  });

  it('needs orgs:read to read one', async () => {
    const { token } = await keyWith(ids.beta, 'zones:list');
    expect((await get(token, `/orgs/${ids.beta}`)).status).toBe(403);
  });

  it('answers a foreign organization in the path as an absent one, for every operation', async () => {
    for (const [method, suffix, body] of [
      ['GET', ''],
      ['PUT', '', { name: 'Mine now' }],
      ['DELETE', ''],
      ['POST', '/restore'],
      ['DELETE', '/purge'],
      ['GET', '/ancestors'],
      ['GET', '/permissions'],
    ] as const) {
      const ask = async (id: string) => {
        const headers = { 'x-correlation-id': 'same' };
        const answer = await app.request(method, `/orgs/${id}${suffix}`, { token: alphaKey, body, headers });
        return [answer.status, answer.text];
      };
      const absent = await ask(ulid());
      expect(absent[0]).toBe(404);
      for (const id of [ids.beta, rootOrgId, 'nonsense']) expect(await ask(id)).toEqual(absent);
    }
    expect((await get(platform, `/orgs/${ids.beta}`)).body.name).toEqual({ en: 'Beta' });
  });
});

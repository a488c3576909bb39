import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

describe('life and end of an organization', () => {
  let app: TestApp;
  let platform: string;

  beforeAll(async () => {
    app = await startTestApp();
    platform = (await app.world.key(rootOrgId, rootAdminId)).token;
  });
  afterAll(() => app.close());

  const ask = async (method: Method, path: string, token = platform) => {
    const answer = await app.request(method, `/orgs/${path}`, { token });
    return [answer.status, answer.body.code];
  };
  const remove = (id: string, token?: string) => ask('DELETE', id, token);
  const restore = (id: string, token?: string) => ask('POST', `${id}/restore`, token);
  const purge = (id: string, token?: string) => ask('DELETE', `${id}/purge`, token);
  const done = [200, undefined];
  const unknown = [404, 'not_found'];
  const keyWith = async (orgId: string, ...roles: string[]) => {
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, ...roles);
    // A second home, so that nobody here is orphaned by accident.
    await app.world.grant(rootOrgId, userId, 'zones:list');
    return (await app.world.key(orgId, userId)).token;
  };
  const events = (id: string) =>
    app.db.query<Record<string, unknown>>(
      `select org_id, event_type, outcome, details from audit_events where resource_id = $1 order by occurred_at`,
      [id],
    );
  const exists = async (id: string) =>
    (await app.db.query('select from orgs where id = $1', [id])).length === 1;
  const listed = async (query: string, token = platform) => {
    const answer = await app.request('GET', `/orgs${query}`, { token });
    return (answer.body.items as { id: string; deleted_at?: string }[]).map((org) => org.id);
  };

  it('deletes softly and restores, each with one event', async () => {
    const id = await app.world.org({ name: 'Shop' });
    const deleted = await app.request('DELETE', `/orgs/${id}`, { token: platform });
    expect(deleted.body).toMatchObject({ id, name: { en: 'Shop' }, deleted_at: expect.any(String) });
    expect(await remove(id)).toEqual(unknown);
    const restored = await app.request('POST', `/orgs/${id}/restore`, { token: platform });
    expect(restored.body).not.toHaveProperty('deleted_at');
    expect(await restore(id)).toEqual([422, 'not_deleted']);
    expect(await events(id)).toEqual(
      ['org.deleted', 'org.restored'].map((event_type) => ({
        org_id: id,
        event_type,
        outcome: 'succeeded',
        details: { resource_name: 'Shop' },
      })),
    );
  });

  it('shows a deleted organization only where asked for, and only to administrators above it', async () => {
    const parent = await app.world.org();
    const id = await app.world.org({ parentId: parent });
    const above = await keyWith(parent, 'admin');
    const beside = await keyWith(parent, 'orgs:read', 'orgs:list', 'orgs:delete');
    expect(await remove(id)).toEqual(done);

    expect(await ask('GET', id, above)).toEqual(unknown);
    expect(await ask('GET', `${id}?include_deleted=true`, above)).toEqual(done);
    expect(await ask('GET', `${id}?include_deleted=true`, beside)).toEqual(unknown);
    expect(await listed('', above)).toEqual([parent]);
    expect(await listed('?include_deleted=true', above)).toEqual([parent, id]);
    expect(await listed('?only_deleted=true', above)).toEqual([id]);
    expect(await listed('?include_deleted=true', beside)).toEqual([parent]);
    expect(await listed(`/children?parent_id=${parent}`, above)).toEqual([]);
    expect(await listed(`/children?parent_id=${parent}&only_deleted=true`, above)).toEqual([id]);
    expect(await listed(`/search?q=${id}`, above)).toEqual([]);
    expect(await listed(`/search?q=${id}&include_deleted=true`, above)).toEqual([id]);
    expect(await ask('GET', `children?parent_id=${id}`, above)).toEqual(unknown);
    expect(await listed(`/children?parent_id=${id}&include_deleted=true`, above)).toEqual([]);
    const top = await app.request('GET', '/orgs/children', { token: above });
    expect(top.body.items).toMatchObject([{ id: parent, has_children: false }]);
  });

  it('closes everything in a deleted organization, until it is restored', async () => {
    const id = await app.world.org();
    const inside = await keyWith(id, 'admin');
    expect(await ask('GET', id, inside)).toEqual(done);
    expect(await remove(id)).toEqual(done);
    expect(await ask('GET', `${id}?include_deleted=true`, inside)).toEqual([401, 'unauthorized']);
    expect(await ask('PUT', id)).toEqual(unknown);
    expect(await ask('GET', `${id}/ancestors`)).toEqual(unknown);
    expect(await ask('GET', `${id}/permissions`)).toEqual(unknown);
    const below = { name: 'x', parent_id: id };
    expect((await app.request('POST', '/orgs', { token: platform, body: below })).status).toBe(404);
    const keys = await app.request('GET', '/api-keys', { token: platform, org: id });
    expect(keys.status).toBe(403);
    expect(await restore(id)).toEqual(done);
    expect(await ask('GET', id, inside)).toEqual(done);
  });

  it('refuses to delete what still has live organizations or integrations', async () => {
    const id = await app.world.org();
    const child = await app.world.org({ parentId: id });
    expect(await remove(id)).toEqual([422, 'has_children']);
    expect(await remove(child)).toEqual(done);
    const { integrationId } = await app.world.building(id);
    expect(await remove(id)).toEqual([422, 'has_children']);
    await app.db.query('update integrations set deleted_at = now() where id = $1', [integrationId]);
    expect(await remove(id)).toEqual(done);
    expect(await restore(child)).toEqual([422, 'parent_deleted']);
    expect(await restore(id)).toEqual(done);
    expect(await restore(child)).toEqual(done);
  });

  it('refuses to orphan a live user, the caller included', async () => {
    const id = await app.world.org();
    const other = await app.world.org();
    const userId = await app.world.user();
    await app.world.grant(id, userId, 'admin');
    const own = await app.world.key(id, userId);
    expect(await remove(id)).toEqual([409, 'would_orphan_users']);
    expect(await remove(id, own.token)).toEqual([409, 'would_orphan_users']);
    expect(await purge(id)).toEqual([409, 'would_orphan_users']);
    await app.world.grant(other, userId, 'orgs:read');
    await app.db.query('update orgs set deleted_at = now() where id = $1', [other]);
    expect(await remove(id)).toEqual([409, 'would_orphan_users']);
    await app.db.query('update orgs set deleted_at = null where id = $1', [other]);
    expect(await remove(id, own.token)).toEqual(done);
    const answer = await app.request('DELETE', `/orgs/${other}`, { token: platform });
    expect(answer.body.code).toBe('would_orphan_users');
  });

  it('does not count deleted users as orphans', async () => {
    const id = await app.world.org();
    const userId = await app.world.user();
    await app.world.grant(id, userId, 'admin');
    await app.db.query('update users set deleted_at = now() where id = $1', [userId]);
    expect(await remove(id)).toEqual(done);
  });

  it('keeps a user a home when their two organizations are deleted at once', async () => {
    for (let round = 0; round < 20; round += 1) {
      const userId = await app.world.user();
      const homes = [await app.world.org(), await app.world.org()];
      for (const home of homes) await app.world.grant(home, userId, 'orgs:read');
      const answers = await Promise.all(homes.map((home) => remove(home)));
      expect(answers.toSorted()).toEqual([done, [409, 'would_orphan_users']].toSorted());
    }
  });

  it('lets one of two deletions at once succeed', async () => {
    for (let round = 0; round < 20; round += 1) {
      const id = await app.world.org();
      const answers = await Promise.all([remove(id), remove(id)]);
      expect(answers.toSorted()).toEqual([done, unknown]);
      expect(await events(id)).toHaveLength(1);
    }
  });

  it('lets a deletion and a new child race to one of two sound ends', async () => {
    for (let round = 0; round < 20; round += 1) {
      const id = await app.world.org();
      const body = { name: 'x', parent_id: id };
      const [removed, created] = await Promise.all([
        remove(id),
        app.request('POST', '/orgs', { token: platform, body }),
      ]);
      expect([
        [200, 404],
        [422, 201],
      ]).toContainEqual([removed[0], created.status]);
    }
  });

  it('never deletes or purges the root organization', async () => {
    expect(await remove(rootOrgId)).toEqual([403, 'forbidden']);
    expect(await purge(rootOrgId)).toEqual([403, 'forbidden']);
    expect(await exists(rootOrgId)).toBe(true);
  });

  it('asks for orgs:delete to delete and for admin to purge', async () => {
    const id = await app.world.org();
    expect(await remove(id, await keyWith(id, 'orgs:update'))).toEqual([403, 'forbidden']);
    const deleter = await keyWith(id, 'orgs:delete');
    expect(await purge(id, deleter)).toEqual([403, 'forbidden']);
    expect(await remove(id, deleter)).toEqual(done);
  });

  it('purges with keys, agents, grants and invitations; the events stay, the last one in the parent', async () => {
    const parent = await app.world.org();
    const id = await app.world.org({ parentId: parent, name: 'Shop' });
    const inside = await keyWith(id, 'admin');
    const agentId = await app.world.agent(id, rootAdminId);
    await app.world.key(id, rootAdminId, { agentId });
    await app.db.query(
      `insert into org_invitations (org_id, id, email, default_roles, token_hash, pin_hash, invited_by_user_id, expires_at)
       values ($1, $2, 'a@b.test', '{admin}', 'x', 'y', $3, now())`,
      [id, ulid(), rootAdminId],
    );
    expect(await remove(id)).toEqual(done);
    const answer = await app.request('DELETE', `/orgs/${id}/purge`, { token: platform });
    expect(answer.body).toMatchObject({ id, name: { en: 'Shop' }, parent_id: parent });
    expect(await purge(id)).toEqual(unknown);
    expect(await ask('GET', `${id}?include_deleted=true`)).toEqual(unknown);
    expect(await ask('GET', id, inside)).toEqual([401, 'unauthorized']);
    for (const table of ['role_grants', 'api_keys', 'agents', 'org_invitations', 'org_epochs']) {
      expect([table, await app.db.query(`select from ${table} where org_id = $1`, [id])]).toEqual([
        table,
        [],
      ]);
    }
    const history = (await events(id)).map((event) => [event.event_type, event.org_id]);
    expect(history).toEqual([
      ['org.deleted', id],
      ['org.purged', parent],
    ]);
  });

  it('purges a live organization too, by its own key', async () => {
    const id = await app.world.org();
    expect(await purge(id, await keyWith(id, 'admin'))).toEqual(done);
    expect(await exists(id)).toBe(false);
  });

  it('never gives the id of a purged organization again: its events would come with it', async () => {
    const id = await app.world.org();
    expect(await purge(id)).toEqual(done);
    const answer = await app.request('POST', '/orgs', { token: platform, body: { id, name: 'x' } });
    expect([answer.status, answer.body.code]).toEqual([409, 'already_exists']);
    expect(await exists(id)).toBe(false);
  });

  it('refuses to purge above organizations and integrations, deleted ones too', async () => {
    const id = await app.world.org();
    const child = await app.world.org({ parentId: id });
    expect(await remove(child)).toEqual(done);
    expect(await purge(id)).toEqual([422, 'has_children']);
    expect(await purge(child)).toEqual(done);
    const { integrationId } = await app.world.building(id);
    await app.db.query('update integrations set deleted_at = now() where id = $1', [integrationId]);
    expect(await purge(id)).toEqual([422, 'has_children']);
    expect(await exists(id)).toBe(true);
  });

  it('writes a denial for a refused deletion in the organization concerned', async () => {
    const id = await app.world.org();
    await remove(id, await keyWith(id, 'orgs:read'));
    const denials = await app.db.query<Record<string, unknown>>(
      'select event_type, outcome from audit_events where org_id = $1',
      [id],
    );
    expect(denials).toEqual([{ event_type: 'org.deleted', outcome: 'denied' }]);
  });
});

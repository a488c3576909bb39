import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

let app: TestApp;
let platform: string;
let orgId: string;
let belowId: string;
let elsewhereId: string;
let admin: string;

beforeAll(async () => {
  app = await startTestApp();
  platform = (await app.world.key(rootOrgId, rootAdminId)).token;
  orgId = await app.world.org();
  belowId = await app.world.org({ parentId: orgId });
  elsewhereId = await app.world.org();
  admin = await keyOf('admin');
});
afterAll(() => app.close());

const member = async (...roles: string[]) => {
  const id = await app.world.user();
  await app.world.grant(orgId, id, ...roles);
  return id;
};
const keyOf = async (...roles: string[]) => (await app.world.key(orgId, await member(...roles))).token;
const add = (token: string, id: string, body: object) =>
  app.request('POST', `/users/${id}/roles`, { token, body });
const remove = (token: string, id: string, body: object) =>
  app.request('DELETE', `/users/${id}/roles`, { token, body });
const outcome = (answer: { status: number; body: { code?: string } }) => [
  answer.status,
  answer.body.code ?? null,
];
const eventsOf = (resourceId: string) =>
  app.db.query('select org_id, event_type, outcome, details from audit_events where resource_id = $1', [
    resourceId,
  ]);

describe('granting roles', () => {
  it('grants in several organizations with one event that lists them all', async () => {
    const id = await member('zones:list');
    const answer = await add(admin, id, { [orgId]: ['zones:read'], [belowId]: ['admin', 'admin'] });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.roles).toEqual({ [orgId]: ['zones:list', 'zones:read'], [belowId]: ['admin'] });
    expect(await eventsOf(id)).toEqual([
      {
        org_id: orgId,
        event_type: 'user.roles_added',
        outcome: 'succeeded',
        details: expect.objectContaining({ roles: { [orgId]: ['zones:read'], [belowId]: ['admin'] } }),
      },
    ]);
  });

  it('takes the form of older client libraries for the organization of the request', async () => {
    const id = await member('zones:list');
    const added = await add(admin, id, { roles: ['zones:read'] });
    expect(added.body.roles).toEqual({ [orgId]: ['zones:list', 'zones:read'] });
    const removed = await remove(admin, id, { roles: ['zones:list'] });
    expect(removed.body.roles).toEqual({ [orgId]: ['zones:read'] });
  });

  it('takes effect on the next request', async () => {
    const id = await member('zones:list');
    const { token } = await app.world.key(orgId, id);
    const list = () => app.request('GET', `/orgs/${orgId}/users`, { token });
    expect((await list()).status).toBe(403);
    await add(admin, id, { roles: ['users:list'] });
    expect((await list()).status).toBe(200);
    await remove(admin, id, { roles: ['users:list'] });
    expect((await list()).status).toBe(403);
  });

  it('needs users:create, and gives nothing the giver does not hold', async () => {
    const id = await member('zones:list');
    const clerk = await keyOf('users:create', 'zones:read');
    expect(outcome(await add(clerk, id, { roles: ['zones:read'] }))).toEqual([200, null]);
    expect(outcome(await add(clerk, id, { roles: ['zones:update'] }))).toEqual([403, 'forbidden']);
    expect(outcome(await add(clerk, id, { roles: ['admin'] }))).toEqual([403, 'forbidden']);
    const reader = await keyOf('users:read', 'zones:read');
    expect(outcome(await add(reader, id, { roles: ['zones:read'] }))).toEqual([403, 'forbidden']);
  });

  it('can not be widened by a key that is scoped to less than its creator', async () => {
    const boss = await member('admin');
    const scoped = await app.world.key(orgId, boss, { scopedRoles: ['users:create', 'users:read'] });
    expect(outcome(await add(scoped.token, boss, { roles: ['execute'] }))).toEqual([403, 'forbidden']);
  });

  it('refuses foreign, absent and deleted organizations alike, and leaves nothing behind', async () => {
    const id = await member('zones:list');
    const deletedId = await app.world.org({ parentId: orgId });
    await app.db.query('update orgs set deleted_at = now() where id = $1', [deletedId]);
    const answers = await Promise.all(
      [elsewhereId, ulid(), deletedId].map((other) =>
        add(admin, id, { [orgId]: ['execute'], [other]: ['execute'] }),
      ),
    );
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.body.message}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(403);
    expect((await app.request('GET', `/users/${id}`, { token: admin })).body.roles).toEqual({
      [orgId]: ['zones:list'],
    });
  });

  it.each([
    ['nothing', {}],
    ['an unknown role', { roles: ['everything'] }],
    ['an organization id that is none', { here: ['execute'] }],
    ['a list in place of a map', ['execute']],
    [
      'more organizations than fit',
      Object.fromEntries(Array.from({ length: 101 }, () => [ulid(), ['execute']])),
    ],
  ])('refuses %s with 400', async (_, body) => {
    const id = await member('zones:list');
    expect(outcome(await add(admin, id, body))).toEqual([400, 'validation_error']);
    expect(outcome(await remove(admin, id, body))).toEqual([400, 'validation_error']);
  });

  it('does not show a stranger to a mere member who may give roles elsewhere', async () => {
    const id = await member('zones:list');
    const callerId = await member('zones:list');
    await app.world.grant(belowId, callerId, 'users:create');
    const { token } = await app.world.key(orgId, callerId);
    expect(outcome(await add(token, id, { [belowId]: ['users:create'] }))).toEqual([403, 'forbidden']);
  });

  it('reaches nobody outside', async () => {
    const stranger = await app.world.user();
    await app.world.grant(elsewhereId, stranger, 'zones:list');
    const foreign = await add(admin, stranger, { roles: ['execute'] });
    const absent = await add(admin, ulid(), { roles: ['execute'] });
    expect(outcome(foreign)).toEqual([404, 'not_found']);
    expect({ ...foreign.body, correlationId: '' }).toEqual({ ...absent.body, correlationId: '' });
    expect(outcome(await remove(admin, stranger, { roles: ['execute'] }))).toEqual([404, 'not_found']);
  });
});

describe('taking roles away', () => {
  it('answers with what is left, even when that is nothing', async () => {
    const id = await member('zones:list');
    const answer = await remove(admin, id, { roles: ['zones:list', 'execute'] });
    expect([answer.status, answer.body.roles]).toEqual([200, {}]);
    expect((await app.request('GET', `/users/${id}`, { token: admin })).status).toBe(404);
    expect(await eventsOf(id)).toMatchObject([{ event_type: 'user.roles_removed', org_id: orgId }]);
  });

  it('leaves administrators to administrators', async () => {
    const id = await member('admin');
    const clerk = await keyOf('users:create');
    expect(outcome(await remove(clerk, id, { roles: ['admin'] }))).toEqual([403, 'forbidden']);
    expect(outcome(await remove(admin, id, { roles: ['admin'] }))).toEqual([200, null]);
  });

  it('lets an organization other than the root lose its own last administrator', async () => {
    const lonelyId = await app.world.org();
    const id = await app.world.user();
    await app.world.grant(lonelyId, id, 'admin', 'zones:list');
    expect(outcome(await remove(platform, id, { [lonelyId]: ['admin'] }))).toEqual([200, null]);
  });

  it('leaves the root organization an administrator who is not deleted', async () => {
    const second = await app.world.user();
    await app.world.grant(rootOrgId, second, 'admin');
    await app.db.query('update users set deleted_at = now() where id = $1', [second]);
    const answer = await remove(platform, rootAdminId, { roles: ['admin'] });
    expect(outcome(answer)).toEqual([409, 'last_admin']);
    await app.db.query('delete from users where id = $1', [second]);
  });

  // Catches the mutant without lockAdministration: both count the other as still there, and both succeed.
  it('lets exactly one of two administrators win who remove each other at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const rivalId = await app.world.user();
      await app.world.grant(rootOrgId, rivalId, 'admin', 'zones:list');
      const rival = (await app.world.key(rootOrgId, rivalId)).token;
      const answers = await Promise.all([
        remove(platform, rivalId, { roles: ['admin'] }),
        remove(rival, rootAdminId, { roles: ['admin'] }),
      ]);
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
      const admins = await app.db.query(
        `select g.user_id from role_grants g join users u on u.id = g.user_id
         where g.org_id = $1 and g.role = 'admin' and u.deleted_at is null`,
        [rootOrgId],
      );
      expect(admins).toHaveLength(1);
      await app.world.grant(rootOrgId, rootAdminId, 'admin');
      await app.db.query('delete from users where id = $1', [rivalId]);
    }
  });

  // Catches the mutant that does not look at the epoch after the wait: the loser acts with rights lost meanwhile.
  it('does so even if a third administrator remains', async () => {
    const third = await app.world.user();
    await app.world.grant(rootOrgId, third, 'admin');
    for (let round = 0; round < 10; round += 1) {
      const rivalId = await app.world.user();
      await app.world.grant(rootOrgId, rivalId, 'admin', 'zones:list');
      const rival = (await app.world.key(rootOrgId, rivalId)).token;
      const answers = await Promise.all([
        remove(platform, rivalId, { roles: ['admin'] }),
        remove(rival, rootAdminId, { roles: ['admin'] }),
      ]);
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
      await app.world.grant(rootOrgId, rootAdminId, 'admin');
      await app.db.query('delete from users where id = $1', [rivalId]);
    }
    await app.db.query('delete from users where id = $1', [third]);
  });
});

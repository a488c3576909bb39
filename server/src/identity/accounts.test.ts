import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPerson, sessionTokenFor } from '../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../test/support/test-world.ts';
import { createBuiltinAccounts } from './accounts.ts';
import { createPasswordHasher } from './password-hash.ts';

describe('accounts, for other parts', () => {
  let app: TestApp;
  const accounts = createBuiltinAccounts(createPasswordHasher());

  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  it('sets a password and ends all sessions', async () => {
    const person = await createPerson(app);
    const token = await sessionTokenFor(app, person);
    await app.app.db.asService((tx) => accounts.setPassword(tx, person.userId, 'set by somebody else'));
    const answer = await app.request('GET', '/auth/session', { headers: { 'x-session-token': token } });
    expect(answer.body).toBeNull();
    await sessionTokenFor(app, { ...person, password: 'set by somebody else' });
  });

  it('ends the sessions of a deleted user; the address is free for a new one and comes back with a restore', async () => {
    const { token: admin } = await app.world.key(rootOrgId, rootAdminId);
    const person = await createPerson(app);
    const token = await sessionTokenFor(app, person);
    const on = (path: string) => ({
      path: `/users/${person.userId}${path}`,
      options: { token: admin, org: person.orgId },
    });
    const removed = on('');
    expect((await app.request('DELETE', removed.path, removed.options)).status).toBe(200);
    const session = await app.request('GET', '/auth/session', { headers: { 'x-session-token': token } });
    expect(session.body).toBeNull();
    await expect(sessionTokenFor(app, person)).rejects.toThrow('4000006');

    const body = {
      name: 'Successor',
      email: person.email,
      password: 'the successor’s secret',
      roles: { [person.orgId]: ['admin'] },
    };
    const created = await app.request('POST', '/users', { token: admin, org: person.orgId, body });
    expect(created.status, created.text).toBe(201);
    await sessionTokenFor(app, { email: person.email, password: 'the successor’s secret' });
    await expect(sessionTokenFor(app, person)).rejects.toThrow('4000006');

    const purge = `/users/${String(created.body.id)}/purge`;
    expect((await app.request('DELETE', purge, removed.options)).status).toBe(200);
    const restored = on('/restore');
    expect((await app.request('POST', restored.path, restored.options)).status).toBe(200);
    await sessionTokenFor(app, person);
  });

  it('removes what a purged person had, sessions and links too', async () => {
    const person = await createPerson(app);
    await sessionTokenFor(app, person);
    await app.app.db.asService((tx) => accounts.deleteIdentitiesOfUser(tx, person.userId));
    const left = await app.db.query(
      `select 1 from identity.identities where email = $1 union all select 1 from user_identities where user_id = $2`,
      [person.email, person.userId],
    );
    expect(left).toEqual([]);
  });

  it('follows a change of the address', async () => {
    const person = await createPerson(app);
    const email = `moved-${person.email}`;
    await app.app.db.asService((tx) => accounts.updateTraits(tx, person.userId, { email }));
    await sessionTokenFor(app, { ...person, email });
    await expect(sessionTokenFor(app, person)).rejects.toThrow('4000006');
  });
});

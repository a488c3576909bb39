import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerPerson, sessionTokenFor, testPassword } from '../../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

interface Issued {
  readonly id: string;
  readonly email: string;
  readonly token: string;
  readonly pin: string;
}

let app: TestApp;
let orgId: string;
let adminId: string;
let admin: string;

beforeAll(async () => {
  app = await startTestApp();
  orgId = await app.world.org();
  adminId = await app.world.user();
  await app.world.grant(orgId, adminId, 'admin');
  admin = (await app.world.key(orgId, adminId)).token;
});
afterAll(() => app.close());

const address = () => `${ulid().toLowerCase()}@example.org`;

async function invite(body: object = {}, token = admin, org = orgId): Promise<Issued> {
  const email = address();
  const answer = await app.request('POST', `/orgs/${org}/invitations`, {
    token,
    body: { email, default_roles: ['zones:list', 'zones:read'], ...body },
  });
  expect(answer.status, answer.text).toBe(201);
  const issued = answer.body as unknown as {
    invitation: { id: string; email: string };
    redeem_url: string;
    pin: string;
  };
  const inviteToken = issued.redeem_url.split('#token=')[1] ?? '';
  return { ...issued.invitation, token: inviteToken, pin: issued.pin };
}

const redeem = (sessionToken: string, { token, pin }: Pick<Issued, 'token' | 'pin'>) =>
  app.request('POST', '/invitations/redeem', {
    headers: { 'x-session-token': sessionToken },
    body: { token, pin },
  });
const wrong = (pin: string) => (pin === '000000' ? '000001' : '000000');
const outcome = (answer: { status: number; body: { code?: string } }) => [
  answer.status,
  answer.body.code ?? null,
];
const grantsOf = async (userId: string) => {
  const rows = await app.db.query<{ org_id: string; role: string }>(
    'select org_id, role from role_grants where user_id = $1 order by role',
    [userId],
  );
  return rows.map((row) => `${row.org_id === orgId ? 'org' : row.org_id} ${row.role}`);
};
const eventsOf = (id: string, type = 'invitation.redeemed') =>
  app.db.query<{
    outcome: string;
    actor_kind: string;
    actor_user_id: string;
    details: object;
    org_id: string;
  }>('select * from audit_events where resource_id = $1 and event_type = $2 order by occurred_at', [
    id,
    type,
  ]);
const stateOf = async (id: string) => {
  const [row] = await app.db.query('select * from org_invitations where id = $1', [id]);
  return row;
};

describe('redeeming', () => {
  it('lets a new person in: registered with the link, joined with the PIN', async () => {
    const invitation = await invite();
    const person = await registerPerson(app, invitation.email, invitation.token, 'Ada');
    expect((await app.request('GET', '/me/profile', { headers: { 'x-session-token': person } })).status).toBe(
      401,
    );
    const answer = await redeem(person, invitation);
    expect(answer.body).toMatchObject({ org_id: orgId, default_roles: ['zones:list', 'zones:read'] });
    const userId = String(answer.body.user_id);
    expect(await grantsOf(userId)).toEqual(['org zones:list', 'org zones:read']);
    const profile = await app.request('GET', '/me/profile', { headers: { 'x-session-token': person } });
    expect(profile.body).toMatchObject({ user_id: userId, email: invitation.email, name: { en: 'Ada' } });
    expect(await eventsOf(invitation.id)).toMatchObject([
      {
        org_id: orgId,
        outcome: 'succeeded',
        actor_kind: 'user',
        actor_user_id: userId,
        details: { user_id: userId, provisioned: true },
      },
    ]);
    expect(outcome(await redeem(person, invitation))).toEqual([410, 'invitation_gone']);
  });

  it('adds to what a person has who is known already', async () => {
    const email = address();
    const created = await app.request('POST', '/users', {
      token: admin,
      body: { name: 'Grace', email, password: testPassword, roles: { [orgId]: ['execute'] } },
    });
    expect(created.status, created.text).toBe(201);
    const person = await sessionTokenFor(app, { email, password: testPassword });
    const answer = await redeem(person, await invite({ email: email.toUpperCase() }));
    expect(answer.body).toMatchObject({ user_id: created.body.id });
    expect(await grantsOf(String(created.body.id))).toEqual([
      'org execute',
      'org zones:list',
      'org zones:read',
    ]);
  });

  it('needs a session with the invited address; a key is none', async () => {
    const invitation = await invite();
    const other = await invite();
    const person = await registerPerson(app, other.email, other.token);
    const mismatch = await redeem(person, invitation);
    const unknown = await redeem(person, { token: 'x'.repeat(43), pin: invitation.pin });
    expect(outcome(mismatch)).toEqual([404, 'not_found']);
    expect(mismatch.body.message).toBe(unknown.body.message);
    const body = { token: invitation.token, pin: invitation.pin };
    expect((await app.request('POST', '/invitations/redeem', { body })).status).toBe(401);
    expect((await app.request('POST', '/invitations/redeem', { token: admin, body })).status).toBe(401);
    expect(await stateOf(invitation.id)).toMatchObject({ redeemed_at: null, pin_failures: 0 });
  });

  it('takes the PIN as people type it', async () => {
    const invitation = await invite();
    const person = await registerPerson(app, invitation.email, invitation.token);
    const pin = ` ${invitation.pin.slice(0, 3)}-${invitation.pin.slice(3)}`;
    expect((await redeem(person, { ...invitation, pin })).status).toBe(200);
  });

  it('ends with the fifth wrong PIN, and each is in the audit', async () => {
    const invitation = await invite();
    const person = await registerPerson(app, invitation.email, invitation.token);
    const bad = { ...invitation, pin: wrong(invitation.pin) };
    for (let tries = 0; tries < 5; tries += 1) {
      expect(outcome(await redeem(person, bad))).toEqual([422, 'wrong_pin']);
    }
    expect(outcome(await redeem(person, invitation))).toEqual([410, 'invitation_gone']);
    expect(await stateOf(invitation.id)).toMatchObject({ pin_failures: 5, accepted_user_id: null });
    const events = await eventsOf(invitation.id);
    expect(events.map((event) => event.outcome)).toEqual(Array(5).fill('denied'));
    expect(events.at(-1)?.details).toMatchObject({ code: 'wrong_pin', cancelled: true });
  });

  // Catches the mutant that reads the invitation without locking it: all twenty guesses would be looked at.
  it('looks at five of twenty wrong PINs that come at once', async () => {
    const invitation = await invite();
    const person = await registerPerson(app, invitation.email, invitation.token);
    const bad = { ...invitation, pin: wrong(invitation.pin) };
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(person, bad)));
    expect(answers.filter((answer) => answer.status === 422)).toHaveLength(5);
    expect(answers.filter((answer) => answer.status === 410)).toHaveLength(15);
    expect(await stateOf(invitation.id)).toMatchObject({ pin_failures: 5 });
  });

  // Catches the mutant without lock and without conditions in spendInvitation: several would join.
  it('happens once, however many try at the same time', async () => {
    const invitation = await invite();
    const person = await registerPerson(app, invitation.email, invitation.token);
    const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(person, invitation)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 410)).toHaveLength(19);
    expect(await eventsOf(invitation.id)).toHaveLength(1);
    const users = await app.db.query('select id from users where email = $1', [invitation.email]);
    expect(users).toHaveLength(1);
  });

  it('makes one user of a person who redeems two invitations at once', async () => {
    const first = await invite();
    const second = await invite({ email: first.email, default_roles: ['execute'] });
    const person = await registerPerson(app, first.email, first.token);
    const answers = await Promise.all([redeem(person, first), redeem(person, second)]);
    expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
    expect(answers[0]?.body.user_id).toBe(answers[1]?.body.user_id);
    expect(await grantsOf(String(answers[0]?.body.user_id))).toHaveLength(3);
  });

  it('is over when the invitation is expired, cancelled, or its organization deleted', async () => {
    const expired = await invite();
    const cancelled = await invite({ email: expired.email });
    const person = await registerPerson(app, expired.email, expired.token);
    const past = "update org_invitations set expires_at = now() - interval '1 s' where id = $1";
    await app.db.query(past, [expired.id]);
    await app.request('DELETE', `/orgs/${orgId}/invitations/${cancelled.id}`, { token: admin });
    expect(outcome(await redeem(person, expired))).toEqual([410, 'invitation_gone']);
    expect(outcome(await redeem(person, cancelled))).toEqual([410, 'invitation_gone']);
    const lostId = await app.world.org();
    await app.world.grant(lostId, adminId, 'admin');
    const lost = await invite({ email: expired.email }, (await app.world.key(lostId, adminId)).token, lostId);
    await app.db.query('update orgs set deleted_at = now() where id = $1', [lostId]);
    expect(outcome(await redeem(person, lost))).toEqual([410, 'invitation_gone']);
  });
});

describe('the inviter', () => {
  const inviter = async (...roles: string[]) => {
    const id = await app.world.user();
    await app.world.grant(orgId, id, ...roles);
    return { id, token: (await app.world.key(orgId, id)).token };
  };

  it.each([
    ['lost one of the roles', "delete from role_grants where user_id = $1 and role = 'zones:read'"],
    ['may invite nobody any more', "delete from role_grants where user_id = $1 and role = 'users:create'"],
    ['was deleted', 'update users set deleted_at = now() where id = $1'],
    ['was purged', 'delete from users where id = $1'],
  ])('who %s takes the invitation along', async (_, change) => {
    const clerk = await inviter('users:create', 'zones:list', 'zones:read');
    const invitation = await invite({}, clerk.token);
    const person = await registerPerson(app, invitation.email, invitation.token);
    await app.db.query(change, [clerk.id]);
    expect(outcome(await redeem(person, invitation))).toEqual([410, 'invitation_gone']);
    expect(await stateOf(invitation.id)).toMatchObject({ redeemed_at: null });
    expect(await app.db.query('select id from users where email = $1', [invitation.email])).toEqual([]);
  });

  it('may be an administrator from above', async () => {
    const { token } = await app.world.key(rootOrgId, rootAdminId);
    const invitation = await invite({ default_roles: ['admin'] }, token);
    const person = await registerPerson(app, invitation.email, invitation.token);
    expect((await redeem(person, invitation)).status).toBe(200);
  });
});

describe('a user who has the address but no way to sign in', () => {
  const waiting = async (email: string, ...roles: string[]) => {
    const id = await app.world.user({ email });
    await app.world.grant(orgId, id, ...roles);
    return id;
  };

  it('is given to the invited by somebody who administers all they belong to', async () => {
    const invitation = await invite();
    const userId = await waiting(invitation.email, 'execute');
    const person = await registerPerson(app, invitation.email, invitation.token);
    const answer = await redeem(person, invitation);
    expect(answer.body).toMatchObject({ user_id: userId });
    expect(await grantsOf(userId)).toEqual(['org execute', 'org zones:list', 'org zones:read']);
  });

  // Catches the mutant that links by the address alone: an administrator of any organization could take over anybody
  // who has not signed in yet.
  it('is not given away by an organization other than all of theirs', async () => {
    const invitation = await invite();
    const userId = await waiting(invitation.email, 'execute');
    await app.world.grant(await app.world.org(), userId, 'admin');
    const person = await registerPerson(app, invitation.email, invitation.token);
    expect(outcome(await redeem(person, invitation))).toEqual([409, 'already_exists']);
    expect(await app.db.query('select * from user_identities where user_id = $1', [userId])).toEqual([]);
    expect(await stateOf(invitation.id)).toMatchObject({ redeemed_at: null });
  });

  it('is not given away by somebody who is no administrator themselves', async () => {
    const clerkId = await app.world.user();
    await app.world.grant(orgId, clerkId, 'users:create', 'zones:list', 'zones:read');
    const invitation = await invite({}, (await app.world.key(orgId, clerkId)).token);
    await waiting(invitation.email, 'admin');
    const person = await registerPerson(app, invitation.email, invitation.token);
    expect(outcome(await redeem(person, invitation))).toEqual([409, 'already_exists']);
  });
});

describe('users and their sessions', () => {
  const joined = async () => {
    const invitation = await invite();
    const person = await registerPerson(app, invitation.email, invitation.token);
    const answer = await redeem(person, invitation);
    return { person, email: invitation.email, userId: String(answer.body.user_id) };
  };
  const profile = async (sessionToken: string) =>
    (await app.request('GET', '/me/profile', { headers: { 'x-session-token': sessionToken } })).status;

  it('end together, and a restored user signs in anew', async () => {
    const { person, email, userId } = await joined();
    expect(await profile(person)).toBe(200);
    expect((await app.request('DELETE', `/users/${userId}`, { token: admin })).status).toBe(200);
    expect(await profile(person)).toBe(401);
    expect((await app.request('POST', `/users/${userId}/restore`, { token: admin })).status).toBe(200);
    expect(await profile(person)).toBe(401);
    expect(await profile(await sessionTokenFor(app, { email, password: testPassword }))).toBe(200);
  });

  it('are gone for good after a purge, and the address is free', async () => {
    const { person, email, userId } = await joined();
    expect((await app.request('DELETE', `/users/${userId}/purge`, { token: admin })).status).toBe(200);
    expect(await profile(person)).toBe(401);
    await expect(sessionTokenFor(app, { email: email, password: testPassword })).rejects.toThrow();
    const again = await invite({ email });
    const newcomer = await registerPerson(app, email, again.token);
    const answer = await redeem(newcomer, again);
    expect(answer.status).toBe(200);
    expect(answer.body.user_id).not.toBe(userId);
  });

  it('a deleted person who is invited again becomes a new user', async () => {
    const { email, userId } = await joined();
    await app.request('DELETE', `/users/${userId}`, { token: admin });
    const again = await invite({ email });
    const answer = await redeem(await registerPerson(app, email, again.token), again);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.user_id).not.toBe(userId);
    const restored = await app.request('POST', `/users/${userId}/restore`, { token: admin });
    expect(outcome(restored)).toEqual([409, 'already_exists']);
  });

  it('an address changed by an administrator is the one to sign in with', async () => {
    const { email, userId } = await joined();
    const changed = address();
    const body = { email: changed };
    expect((await app.request('PUT', `/users/${userId}`, { token: admin, body })).status).toBe(200);
    expect(await profile(await sessionTokenFor(app, { email: changed, password: testPassword }))).toBe(200);
    await expect(sessionTokenFor(app, { email: email, password: testPassword })).rejects.toThrow();
  });

  it('a password that is too easy makes no user', async () => {
    const email = address();
    const roles = { [orgId]: ['execute'] };
    const body = { name: 'Easy', email, password: 'password', roles };
    expect(outcome(await app.request('POST', '/users', { token: admin, body }))).toEqual([
      400,
      'validation_error',
    ]);
    expect(await app.db.query('select id from users where email = $1', [email])).toEqual([]);
  });
});

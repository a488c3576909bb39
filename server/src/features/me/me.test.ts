import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createPerson,
  eventsOf,
  type PersonWithPassword,
  sessionCookieFor,
} from '../../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { testPublicUrl } from '../../../test/support/test-world.ts';

describe('me', () => {
  let app: TestApp;
  let person: PersonWithPassword;
  let cookie: string;

  beforeAll(async () => {
    app = await startTestApp();
    person = await createPerson(app);
    cookie = await sessionCookieFor(app, person);
  });
  afterAll(() => app.close());

  const patch = (body: object, correlationId = 'me') =>
    app.request('PATCH', '/me/profile', {
      body,
      headers: { cookie, origin: testPublicUrl, 'x-correlation-id': correlationId },
    });

  it('describes a session, a key and an agent’s credential', async () => {
    const byCookie = await app.request('GET', '/me/profile', { headers: { cookie } });
    const about = { user_id: person.userId, email: person.email, roles: { [person.orgId]: ['admin'] } };
    expect(byCookie.body).toEqual({
      ...about,
      principal_kind: 'user',
      name: byCookie.body.name,
      locale: null,
      org_id: null,
      agent_id: null,
      api_key_id: null,
      api_key_expires_at: null,
    });
    const key = await app.world.key(person.orgId, person.userId, { scopedRoles: ['entities:list'] });
    const byKey = await app.request('GET', '/me/profile', { token: key.token });
    expect(byKey.body).toMatchObject({
      principal_kind: 'api_key',
      user_id: person.userId,
      org_id: person.orgId,
      api_key_id: key.id,
      agent_id: null,
      roles: { [person.orgId]: ['entities:list'] },
    });
    const agentId = await app.world.agent(person.orgId, person.userId);
    const credential = await app.world.key(person.orgId, person.userId, { agentId });
    const byAgent = await app.request('GET', '/me/profile', { token: credential.token });
    expect(byAgent.body).toMatchObject({ principal_kind: 'agent', agent_id: agentId, org_id: person.orgId });
    expect((await app.request('GET', '/me/profile')).status).toBe(401);
  });

  it('changes name and locale, also in the session’s traits, and writes one event', async () => {
    const answer = await patch({ name: ' Zoë ', locale: 'DE-at' }, 'me-changed');
    expect(answer.body).toMatchObject({ name: { 'de-AT': 'Zoë' }, locale: 'de-AT' });
    const session = await app.request('GET', '/auth/session', { headers: { cookie } });
    expect(session.body).toMatchObject({ identity: { traits: { name: 'Zoë' } } });
    expect(await eventsOf(app, 'me-changed')).toMatchObject([
      {
        event_type: 'user.updated',
        org_id: person.orgId,
        actor_user_id: person.userId,
        details: { changed: ['locale', 'name'] },
      },
    ]);
    expect((await patch({ locale: null })).body).toMatchObject({ name: { 'de-AT': 'Zoë' }, locale: null });
    expect((await patch({ name: { en: 'Zoe', fr: 'Zoé' } })).body.name).toEqual({ en: 'Zoe', fr: 'Zoé' });
  });

  it.each([
    [{ name: '' }, '/name'],
    [{ name: { en: 'a\u200Bb' } }, '/name/en'],
    [{ locale: 'not a locale' }, '/locale'],
    [{ email: 'x@y.z' }, '/email'],
  ])('refuses %j', async (body, path) => {
    const answer = await patch(body);
    expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, path]);
  });

  it('is changed by a session only', async () => {
    const { token } = await app.world.key(person.orgId, person.userId);
    expect((await app.request('PATCH', '/me/profile', { token, body: { locale: 'en' } })).status).toBe(401);
  });
});

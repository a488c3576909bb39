import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPerson, eventsOf, type PersonWithPassword, signInLinkFor } from '../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import { rootAdminId, testPublicUrl } from '../../test/support/test-world.ts';

describe('one-time sign-in link', () => {
  let app: TestApp;
  let person: PersonWithPassword;

  beforeAll(async () => {
    app = await startTestApp();
    person = await createPerson(app);
  });
  afterAll(() => app.close());

  const codeFor = async (who: { userId: string; email: string }) =>
    new URL(await signInLinkFor(app, who)).searchParams.get('code') ?? '';
  const look = (code: string) => app.app.http.inject(`/identity/sign-in?code=${code}`);
  const use = (code: string, headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' }) =>
    app.app.http.inject({
      method: 'POST',
      url: '/identity/sign-in',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: new URLSearchParams({ code }).toString(),
    });

  it('shows one button, spends nothing, and runs no script', async () => {
    const code = await codeFor(person);
    for (let visit = 0; visit < 3; visit += 1) {
      const page = await look(code);
      expect(page.statusCode).toBe(200);
      expect(page.body.match(/<button[^>]*>Sign in to Lintel<\/button>/g)).toHaveLength(1);
      expect(page.body).not.toMatch(/<script|\son\w+=/i);
      expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
      expect(page.headers['set-cookie']).toBeUndefined();
    }
    expect((await use(code)).statusCode).toBe(303);
  });

  it('signs in once, goes home, and is written down', async () => {
    const code = await codeFor(person);
    const answer = await use(code, { origin: testPublicUrl, 'x-correlation-id': 'link-used' });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/']);
    const cookie = String(answer.headers['set-cookie']).split(';')[0] ?? '';
    const session = await app.request('GET', '/auth/session', { headers: { cookie } });
    expect(session.body).toMatchObject({ authentication_methods: [{ method: 'link_recovery' }] });
    expect(await eventsOf(app, 'link-used')).toMatchObject([
      {
        event_type: 'identity.login_succeeded',
        org_id: person.orgId,
        actor_user_id: person.userId,
        source: 'dashboard',
        details: { method: 'one_time_link' },
      },
    ]);
    expect((await use(code)).statusCode).toBe(410);
    expect((await look(code)).statusCode).toBe(410);
  });

  it('gives one session to two people who press the button at once', async () => {
    const code = await codeFor(person);
    const count = async () =>
      (await app.db.query<{ n: number }>('select count(*)::int as n from identity.sessions'))[0]?.n ?? 0;
    const before = await count();
    const answers = await Promise.all([use(code), use(code), use(code)]);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 410, 410]);
    expect(await count()).toBe(before + 1);
  });

  it('is not spent by a foreign page', async () => {
    const code = await codeFor(person);
    const foreign: Record<string, string>[] = [
      {},
      { origin: 'https://evil.test' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of foreign) expect((await use(code, headers)).statusCode).toBe(403);
    expect((await use(code)).statusCode).toBe(303);
  });

  it('ends after a day, and leaves only a hash behind', async () => {
    const code = await codeFor(person);
    const rows = await app.db.query<{ row: string; hours: number }>(
      `select c::text as row, extract(epoch from expires_at - now()) / 3600 as hours
       from identity.one_time_codes c where used_at is null`,
    );
    expect(rows.map(({ row }) => row).join()).not.toContain(code);
    expect(Math.max(...rows.map(({ hours }) => Number(hours)))).toBeLessThanOrEqual(24);
    await app.db.query("update identity.one_time_codes set expires_at = now() - interval '1 second'");
    expect((await use(code)).statusCode).toBe(410);
  });

  it('gives a user without an identity one, and no second one to who has it', async () => {
    const admin = { userId: rootAdminId, email: 'admin@root.test' };
    await codeFor(admin);
    expect((await use(await codeFor(admin))).statusCode).toBe(303);
    const links = await app.db.query('select 1 from user_identities where user_id = $1', [rootAdminId]);
    expect(links).toHaveLength(1);
  });

  it('does not let a deleted user in', async () => {
    const gone = await createPerson(app);
    const code = await codeFor(gone);
    await app.db.query('update users set deleted_at = now() where id = $1', [gone.userId]);
    expect((await use(code)).statusCode).toBe(410);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPerson, type PersonWithPassword } from '../../test/support/people.ts';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { deleteExpired } from './expiry.store.ts';

/** A clock that stands 100 seconds before the end of a window, so that no test straddles two. */
const instant = Math.floor(systemClock.millis() / 300_000) * 300_000 + 200_000;
let shiftMs = 0;
const standing: Clock = {
  now: () => new Date(instant + shiftMs),
  millis: () => instant + shiftMs,
  monotonicMs: systemClock.monotonicMs,
};

describe('login rate limit', () => {
  let app: TestApp;
  let second: TestApp;
  let person: PersonWithPassword;

  beforeAll(async () => {
    app = await startTestApp({ clock: standing });
    second = await app.secondNode();
    person = await createPerson(app);
  });
  afterAll(async () => {
    await second.close();
    await app.close();
  });

  async function attempt(node: TestApp, identifier: string, password: string, ip = '192.0.2.1') {
    const begun = await node.app.http.inject('/identity/self-service/login/api');
    return node.app.http.inject({
      method: 'POST',
      url: `/identity/self-service/login?flow=${begun.json<{ id: string }>().id}`,
      remoteAddress: ip,
      payload: { method: 'password', identifier, password },
    });
  }
  const failures = async (type: string) =>
    (await app.db.query('select 1 from audit_events where event_type = $1', [type])).length;

  it('counts failures of an address on all nodes together; even the right password then waits', async () => {
    const before = await failures('identity.login_failed');
    const nodes = [app, second];
    const statuses: number[] = [];
    for (let index = 0; index < 10; index += 1) {
      const node = nodes[index % 2] ?? app;
      statuses.push((await attempt(node, person.email, 'wrong password', `192.0.2.${index}`)).statusCode);
    }
    expect(statuses).toEqual(Array(10).fill(400));
    for (const node of nodes) {
      const refused = await attempt(node, person.email.toUpperCase(), person.password, '198.51.100.7');
      expect(refused.statusCode).toBe(429);
      expect(refused.headers['retry-after']).toBe('100');
      const { ui } = refused.json<{ ui: { messages: { id: number }[] } }>();
      expect(ui.messages.map(({ id }) => id)).toEqual([4000001]);
    }
    expect(await failures('identity.login_failed')).toBe(before + 10);
    shiftMs = 100_000;
    expect((await attempt(app, person.email, person.password)).statusCode).toBe(200);
  });

  it('lets no more than the limit through when guesses come at once', async () => {
    const guesses = Array.from({ length: 16 }, (_, index) =>
      attempt(index % 2 === 0 ? app : second, 'target@people.test', 'wrong password', `203.0.113.${index}`),
    );
    const statuses = (await Promise.all(guesses)).map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status === 400)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(6);
  });

  it('counts a network over all addresses, IPv6 by its /64', async () => {
    const network = (host: number) => `2001:db8:1:2::${host.toString(16)}`;
    await app.db.query(
      `insert into identity.attempts (subject, window_start, count) values ('ip 2001:db8:1:2::/64', $1, 49)`,
      [new Date(Math.floor(standing.millis() / 300_000) * 300_000)],
    );
    const a = await attempt(app, 'a@people.test', 'wrong password', network(1));
    const b = await attempt(app, 'b@people.test', 'wrong password', network(2));
    const elsewhere = await attempt(app, 'b@people.test', 'wrong password', '2001:db8:1:3::1');
    expect([a, b, elsewhere].map(({ statusCode }) => statusCode)).toEqual([400, 429, 400]);
  });

  it('forgives successes: they use up nothing', async () => {
    const busy = await createPerson(app);
    for (let index = 0; index < 12; index += 1) {
      expect((await attempt(app, busy.email, busy.password, '192.0.2.99')).statusCode).toBe(200);
    }
  });

  it('keeps neither addresses nor old windows', async () => {
    const text = async () => JSON.stringify(await app.db.query('select subject from identity.attempts'));
    expect(await text()).not.toContain('people.test');
    await app.db.query(
      "insert into identity.attempts (subject, window_start, count) values ('ip old', now() - interval '2 hours', 1)",
    );
    await deleteExpired(app.app.db.direct);
    expect(await text()).not.toContain('ip old');
    expect(await text()).toContain('2001:db8:1:2::/64');
  });

  it('answers a browser’s form with the page and the status', async () => {
    const started = await app.app.http.inject('/identity/self-service/login/browser');
    const cookie = String(started.headers['set-cookie']).split(';')[0] ?? '';
    const page = await app.app.http.inject({ url: String(started.headers.location), headers: { cookie } });
    const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const action = /action="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const answer = await app.app.http.inject({
      method: 'POST',
      url: action,
      headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({
        csrf_token,
        method: 'password',
        identifier: 'target@people.test',
        password: 'wrong password',
      }).toString(),
    });
    expect(answer.statusCode).toBe(429);
    expect(answer.headers['retry-after']).toBeDefined();
    expect(answer.body).toContain('Too many attempts');
  });
});

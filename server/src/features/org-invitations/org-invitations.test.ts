import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type Clock, systemClock } from '../../kernel/clock.ts';
import { ulid } from '../../kernel/ulid.ts';

interface IssuedBody {
  readonly invitation: { readonly id: string; readonly expires_at: string };
  readonly redeem_url: string;
  readonly pin: string;
}

let app: TestApp;
let orgId: string;
let elsewhereId: string;
let admin: string;
let shiftMs = 0;
// Stands still: what is left of a minute does not depend on how long a request takes.
const startedMs = systemClock.millis();
const clock: Clock = {
  ...systemClock,
  now: () => new Date(startedMs + shiftMs),
  millis: () => startedMs + shiftMs,
};

beforeAll(async () => {
  app = await startTestApp({ clock });
  orgId = await app.world.org({ name: 'House' });
  elsewhereId = await app.world.org();
  admin = await keyOf('admin');
});
beforeEach(() => {
  shiftMs = 0;
});
afterAll(() => app.close());

const day = 86_400_000;
const keyOf = async (...roles: string[]) => {
  const id = await app.world.user();
  await app.world.grant(orgId, id, ...roles);
  return (await app.world.key(orgId, id)).token;
};
const address = () => `${ulid().toLowerCase()}@example.org`;
const invite = (token: string, body: object = {}, org = orgId) =>
  app.request('POST', `/orgs/${org}/invitations`, { token, body: { email: address(), ...body } });
const issue = async (body: object = {}) => {
  const answer = await invite(admin, body);
  expect(answer.status, answer.text).toBe(201);
  return answer.body as unknown as IssuedBody;
};
const tokenOf = (issued: IssuedBody) => issued.redeem_url.split('#token=')[1] ?? '';
const preview = (token: string) => app.request('POST', '/invitations/preview', { body: { token } });
const act = async (method: 'POST' | 'DELETE', id: string, suffix = '', token = admin, org = orgId) => {
  const answer = await app.request(method, `/orgs/${org}/invitations/${id}${suffix}`, { token });
  return [answer.status, answer.body?.code ?? null];
};
const statusOf = async (id: string) => {
  const answer = await app.request('GET', `/orgs/${orgId}/invitations`, { token: admin });
  const { invitations } = answer.body as unknown as { invitations: { id: string; status: string }[] };
  return invitations.find((invitation) => invitation.id === id)?.status;
};
const eventsOf = async (id: string) => {
  const rows = await app.db.query<{ event_type: string; org_id: string }>(
    'select event_type, org_id from audit_events where resource_id = $1 order by occurred_at',
    [id],
  );
  expect(rows.every((row) => row.org_id === orgId)).toBe(true);
  return rows.map((row) => row.event_type);
};

describe('inviting', () => {
  it('shows link and PIN once; neither is kept', async () => {
    const answer = await invite(admin, { email: ' Ada@Example.org ', default_roles: ['zones:list'] });
    const issued = answer.body as unknown as IssuedBody;
    expect(answer.body).toMatchObject({
      invitation: {
        org_id: orgId,
        status: 'pending',
        channel: 'email',
        email: 'ada@example.org',
        default_roles: ['zones:list'],
        sent_count: 1,
        accepted_user_id: null,
      },
      redeem_url: expect.stringMatching(/^http:\/\/localhost:8080\/join#token=[\w-]{43}$/),
      pin: expect.stringMatching(/^\d{6}$/),
    });
    const listed = await app.request('GET', `/orgs/${orgId}/invitations`, { token: admin });
    const rows = await app.db.query('select * from org_invitations where id = $1', [issued.invitation.id]);
    const events = await app.db.query('select * from audit_events where resource_id = $1', [
      issued.invitation.id,
    ]);
    for (const text of [listed.text, JSON.stringify(rows), JSON.stringify(events)]) {
      expect(text).toContain(issued.invitation.id);
      expect(text).not.toContain(tokenOf(issued));
      expect(text).not.toContain(`"${issued.pin}"`);
    }
    expect(await eventsOf(issued.invitation.id)).toEqual(['invitation.created']);
  });

  it('lasts a week unless told otherwise, and never more than 30 days', async () => {
    const lifeOf = async (body: object) => {
      const { invitation } = await issue(body);
      return Math.round((Date.parse(invitation.expires_at) - clock.millis()) / 1000 / 60);
    };
    expect(await lifeOf({})).toBe(7 * 1440);
    expect(await lifeOf({ expires_in: 'PT90M' })).toBe(90);
    expect(await lifeOf({ expires_in: '30d' })).toBe(30 * 1440);
    for (const expires_in of ['31d', 'soon', 'PT0S'])
      expect((await invite(admin, { expires_in })).status).toBe(400);
  });

  it('gives membership and no more when no roles are named', async () => {
    const answer = await invite(admin, { default_roles: [] });
    expect(answer.body).toMatchObject({ invitation: { default_roles: ['orgs:read'] } });
  });

  it('gives only roles the inviter holds', async () => {
    const clerk = await keyOf('users:create', 'zones:list');
    expect((await invite(clerk, { default_roles: ['zones:list'] })).status).toBe(201);
    expect((await invite(clerk, { default_roles: ['zones:read'] })).status).toBe(403);
    expect((await invite(clerk, { default_roles: ['admin'] })).status).toBe(403);
    expect((await invite(await keyOf('users:list'), { default_roles: ['users:list'] })).status).toBe(403);
  });

  it.each([
    ['an address that is none', { email: 'ada' }],
    ['an unknown role', { default_roles: ['toString'] }],
    ['a phone', { phone: '+43123456' }],
  ])('refuses %s with 400', async (_, body) => {
    expect((await invite(admin, body)).status).toBe(400);
  });
});

describe('the life of an invitation', () => {
  it('ends by cancelling, once', async () => {
    const issued = await issue();
    const { id } = issued.invitation;
    expect(await act('DELETE', id)).toEqual([204, null]);
    expect(await act('DELETE', id)).toEqual([422, 'invitation_closed']);
    expect(await act('POST', id, '/resend')).toEqual([422, 'invitation_closed']);
    expect(await statusOf(id)).toBe('cancelled');
    expect((await preview(tokenOf(issued))).body).toMatchObject({ status: 'cancelled' });
    expect(await act('DELETE', id, '/purge')).toEqual([204, null]);
    expect(await act('DELETE', id, '/purge')).toEqual([404, 'not_found']);
    expect((await preview(tokenOf(issued))).status).toBe(404);
    expect(await eventsOf(id)).toEqual(['invitation.created', 'invitation.cancelled', 'invitation.purged']);
  });

  it('can be sent again after a minute: new link, new PIN, its time from the start, the old ones dead', async () => {
    const first = await issue({ expires_in: '2d' });
    const { id } = first.invitation;
    const early = await app.request('POST', `/orgs/${orgId}/invitations/${id}/resend`, { token: admin });
    expect([early.status, early.body.code]).toEqual([429, 'rate_limited']);
    expect(early.headers['retry-after']).toBe('60');
    shiftMs = 3 * day;
    expect(await statusOf(id)).toBe('expired');
    const again = await app.request('POST', `/orgs/${orgId}/invitations/${id}/resend`, { token: admin });
    expect(again.body).toMatchObject({ invitation: { id, status: 'pending', sent_count: 2 } });
    const second = again.body as unknown as IssuedBody;
    expect(Date.parse(second.invitation.expires_at) - clock.millis()).toBeGreaterThan(2 * day - 60_000);
    expect((await preview(tokenOf(first))).status).toBe(404);
    expect((await preview(tokenOf(second))).body).toMatchObject({ status: 'pending' });
    expect(await eventsOf(id)).toEqual(['invitation.created', 'invitation.resent']);
  });

  // Catches the mutant without requireGrantable in resend: a clerk would get hold of an administrator's link and PIN.
  it('is sent again only by somebody entitled to what it gives, who then answers for it', async () => {
    const { invitation } = await issue({ default_roles: ['admin'] });
    shiftMs = 2 * 60_000;
    const clerkId = await app.world.user();
    await app.world.grant(orgId, clerkId, 'users:create');
    const clerk = (await app.world.key(orgId, clerkId)).token;
    expect(await act('POST', invitation.id, '/resend', clerk)).toEqual([403, 'forbidden']);
    const harmless = await issue({ default_roles: ['users:create'] });
    shiftMs = 4 * 60_000;
    const path = `/orgs/${orgId}/invitations/${harmless.invitation.id}/resend`;
    const answer = await app.request('POST', path, { token: clerk });
    expect(answer.body).toMatchObject({ invitation: { invited_by_user_id: clerkId } });
  });

  it('is nobody else’s business', async () => {
    const { invitation } = await issue();
    const strangerId = await app.world.user();
    await app.world.grant(elsewhereId, strangerId, 'admin');
    const stranger = (await app.world.key(elsewhereId, strangerId)).token;
    for (const [method, suffix] of [
      ['DELETE', ''],
      ['DELETE', '/purge'],
      ['POST', '/resend'],
    ] as const) {
      const absent = await act(method, ulid(), suffix, stranger, elsewhereId);
      expect(absent).toEqual([404, 'not_found']);
      expect(await act(method, invitation.id, suffix, stranger, elsewhereId)).toEqual(absent);
      expect(await act(method, invitation.id, suffix, stranger)).toEqual(absent);
      expect(await act(method, 'no-ulid', suffix)).toEqual(absent);
    }
    expect((await app.request('GET', `/orgs/${orgId}/invitations`, { token: stranger })).status).toBe(404);
    expect((await invite(stranger)).status).toBe(404);
  });
});

describe('the preview', () => {
  it('shows who invites whom, with the address masked', async () => {
    const issued = await issue({ email: 'ada@mail.example.org' });
    const answer = await preview(tokenOf(issued));
    expect(answer.body).toEqual({
      org_id: orgId,
      org_name: { en: 'House' },
      channel: 'email',
      status: 'pending',
      target_masked: 'a***@m***.org',
      expires_at: issued.invitation.expires_at,
    });
    shiftMs = 8 * day;
    expect((await preview(tokenOf(issued))).body).toMatchObject({ status: 'expired' });
  });

  it('knows nothing of an unknown token, nor of an organization that is deleted', async () => {
    expect((await preview('x'.repeat(43))).status).toBe(404);
    const lostId = await app.world.org();
    const ownerId = await app.world.user();
    await app.world.grant(lostId, ownerId, 'admin');
    const answer = await invite((await app.world.key(lostId, ownerId)).token, {}, lostId);
    await app.db.query('update orgs set deleted_at = now() where id = $1', [lostId]);
    expect((await preview(tokenOf(answer.body as unknown as IssuedBody))).status).toBe(404);
  });

  it('is counted per network on all nodes', async () => {
    const second = await app.secondNode();
    // The start of a window far from those of the other tests, so that none ends meanwhile.
    const windowMs = 300_000;
    shiftMs = Math.ceil((clock.millis() + 40 * day) / windowMs) * windowMs - clock.millis();
    const statuses: number[] = [];
    for (let tries = 0; tries < 101; tries += 1) {
      const node = tries % 2 === 0 ? app : second;
      const answer = await node.request('POST', '/invitations/preview', { body: { token: 'y'.repeat(43) } });
      statuses.push(answer.status);
      if (answer.status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(statuses.filter((status) => status === 404)).toHaveLength(100);
    expect(statuses.at(-1)).toBe(429);
    await second.close();
  });
});

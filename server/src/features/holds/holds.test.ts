import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createShiftedClock } from '../../../test/support/shifted-clock.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';

const clock = createShiftedClock();
const patiently = { timeout: 15_000, interval: 50 };

describe('holds', () => {
  let app: TestApp;
  let other: TestApp;
  let orgId: string;
  let token: string;
  let building: BuildingIds;

  beforeAll(async () => {
    app = await startTestApp({ clock });
    other = await app.secondNode();
  });
  afterAll(async () => {
    await other.close();
    await app.close();
  });
  beforeEach(async () => {
    clock.aheadMs = 0;
    orgId = await app.world.org();
    building = await app.world.building(orgId);
    token = await person('admin');
  });

  const person = async (...roles: string[]) => {
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, ...roles);
    return (await app.world.key(orgId, userId)).token;
  };
  const request = (method: 'GET' | 'PUT' | 'POST', path: string, body?: unknown, as = token) =>
    app.request(method, path, { token: as, ...(body === undefined ? {} : { body }) });
  const hold = (body: unknown) => request('PUT', `/entities/${building.entityId}/hold`, body);
  const act = (action: string, entityId = building.entityId) =>
    request('POST', `/entities/${entityId}/actions/${action}`, {});
  const commands = async (entityId = building.entityId) => {
    const rows = await app.db.query<{ command: string }>(
      `select details ->> 'command' as command from intents
       where entity_id = $1 and principal_kind = 'system' and state = 'succeeded' order by id`,
      [entityId],
    );
    return rows.map(({ command }) => command);
  };
  const sent = (expected: string[], entityId = building.entityId) =>
    vi.waitFor(async () => expect(await commands(entityId)).toEqual(expected), patiently);
  const stateOf = async (entityId = building.entityId) =>
    (
      await app.db.query<{ status: string }>('select status from entity_states where entity_id = $1', [
        entityId,
      ])
    )[0]?.status;
  /** As if the time until then had passed. */
  const passTime = async (ms: number) => {
    clock.aheadMs += ms;
    await app.db.query('update hold_jobs set due_at = now() where org_id = $1', [orgId]);
  };
  const looked = () =>
    vi.waitFor(async () => {
      const due = await app.db.query('select from hold_jobs where org_id = $1 and due_at < now()', [orgId]);
      expect(due).toHaveLength(0);
    }, patiently);

  it('closed: nobody opens, and the refusal names the hold; closing is always possible', async () => {
    const put = await hold({ mode: 'hold_closed', reason: 'lift is broken' });
    expect(put).toMatchObject({
      status: 200,
      body: { mode: 'hold_closed', kind: 'permanent', scope: 'entity', active: true, timezone: 'UTC' },
    });
    for (const action of ['open', 'toggle']) {
      await app.db.query(`update entity_states set status = 'closed' where entity_id = $1`, [
        building.entityId,
      ]);
      const denied = await act(action);
      expect(denied, action).toMatchObject({ status: 403, body: { code: 'policy_denied' } });
      expect(denied.body.message).toContain(`held closed: lift is broken (hold ${put.body.id}`);
    }
    const preview = await act('open/preview');
    expect(preview.body).toMatchObject({
      decision: 'deny',
      reasons: [{ policy_id: put.body.id, policy_type: 'hold', scope: 'entity', effect: 'deny' }],
    });
    expect((await act('close')).status).toBe(200);
    expect((await hold({ mode: 'normal' })).body).toMatchObject({ mode: 'normal', id: null, active: false });
    expect((await act('open')).status).toBe(200);
  });

  it('leave an event with what was set', async () => {
    const put = await hold({ mode: 'hold_closed', kind: 'permanent', reason: 'works' });
    const events = await app.db.query<{ details: Record<string, unknown> }>(
      `select details from audit_events where org_id = $1 and event_type = 'entity.hold_changed'`,
      [orgId],
    );
    expect(events).toMatchObject([
      { details: { mode: 'hold_closed', hold_id: put.body.id, reason: 'works' } },
    ]);
  });

  it('open: the door is opened once without a pulse, stays open, and is closed at the end', async () => {
    expect((await hold({ mode: 'hold_open' })).status).toBe(200);
    await sent(['open']);
    // An open in between is none with a pulse, and nothing is scheduled to close it.
    const answer = await act('open');
    expect(answer.status).toBe(200);
    expect(answer.body).not.toHaveProperty('door_open_duration_seconds');
    expect((await act('open/preview')).body).toMatchObject({
      decision: 'allow',
      effect: { pulse_seconds: null },
    });
    await passTime(0);
    await looked();
    await hold({ mode: 'normal' });
    await sent(['open', 'close']);
    expect(await stateOf()).toBe('closed');
  });

  it('open: a caller may close, the hold stays, and nothing is opened again by itself', async () => {
    await hold({ mode: 'hold_open' });
    await sent(['open']);
    expect((await act('close')).status).toBe(200);
    await passTime(0);
    await looked();
    expect(await stateOf()).toBe('closed');
    expect((await request('GET', `/entities/${building.entityId}/hold`)).body).toMatchObject({
      mode: 'hold_open',
      active: true,
    });
    expect(await commands()).toEqual(['open']);
  });

  it('until a time: over by itself, on the minute', async () => {
    const until = new Date(clock.millis() + 10 * 60_000 + 1).toISOString();
    const put = await hold({ mode: 'hold_open', until });
    expect(put.body).toMatchObject({ kind: 'temporary', active: true });
    expect(Date.parse(String(put.body.until)) % 60_000).toBe(0);
    expect(Date.parse(String(put.body.until))).toBeGreaterThanOrEqual(Date.parse(until));
    await sent(['open']);
    await passTime(12 * 60_000);
    await sent(['open', 'close']);
    expect((await request('GET', `/entities/${building.entityId}/hold`)).body).toMatchObject({
      mode: 'normal',
    });
  });

  it('every week: each window opens once and closes once, with two nodes at work', async () => {
    const now = new Date(clock.millis());
    const time = (minutes: number) => new Date(now.getTime() + minutes * 60_000).toISOString().slice(11, 16);
    const recurrence = { days: [1, 2, 3, 4, 5, 6, 7], start: time(60), end: time(120) };
    expect((await hold({ mode: 'hold_open', recurrence })).body).toMatchObject({
      kind: 'recurring',
      active: false,
    });
    await looked();
    expect(await commands()).toEqual([]);
    await passTime(61 * 60_000);
    await sent(['open']);
    await passTime(30 * 60_000);
    await looked();
    await passTime(30 * 60_000);
    await sent(['open', 'close']);
    await passTime(23 * 60 * 60_000);
    await sent(['open', 'close', 'open']);
  });

  it('closed in weekly hours of the organization’s zone', async () => {
    await app.request('PATCH', `/orgs/${orgId}/timezone`, { token, body: { timezone: 'Asia/Kathmandu' } });
    const local = new Intl.DateTimeFormat('en-GB', { timeZone: 'Asia/Kathmandu', timeStyle: 'short' });
    const time = (minutes: number) => local.format(new Date(Date.now() + minutes * 60_000));
    const days = [1, 2, 3, 4, 5, 6, 7];
    await hold({ mode: 'hold_closed', recurrence: { days, start: time(-5), end: time(5) } });
    expect((await act('open')).status).toBe(403);
    await hold({ mode: 'hold_closed', recurrence: { days, start: time(5), end: time(10) } });
    expect((await act('open')).status).toBe(200);
  });

  it('of a device: all its doors; lights only when asked for', async () => {
    const light = `${building.entityId.slice(0, -4)}AAAA`;
    await app.db.query(
      `insert into entities (org_id, id, device_id, entity_type, name) values ($1, $2, $3, 'light', 'Lamp')`,
      [orgId, light, building.deviceId],
    );
    const path = `/devices/${building.deviceId}/hold`;
    const put = await request('PUT', path, { mode: 'hold_closed' });
    expect(put.body).toMatchObject({ scope: 'device', device_id: building.deviceId, entity_id: null });
    expect((await request('GET', `/entities/${building.entityId}/hold`)).body).toMatchObject({
      id: put.body.id,
    });
    expect((await act('open')).status).toBe(403);
    expect((await act('on', light)).status).toBe(200);
    await request('PUT', path, { mode: 'hold_closed', include_lights: true });
    expect((await act('on', light)).status).toBe(403);
    await request('PUT', path, { mode: 'hold_open', include_lights: true });
    await sent(['open']);
    await sent(['open'], light);
  });

  it('of a device and of its entity exclude each other', async () => {
    const device = `/devices/${building.deviceId}/hold`;
    await hold({ mode: 'hold_closed' });
    expect(await request('PUT', device, { mode: 'hold_open' })).toMatchObject({
      status: 409,
      body: { code: 'hold_conflict' },
    });
    await hold({ mode: 'normal' });
    const answers = await Promise.all(
      [1, 2, 3, 4].flatMap(() => [
        hold({ mode: 'hold_closed' }),
        request('PUT', device, { mode: 'hold_closed' }),
      ]),
    );
    const winners = answers.map(({ status }) => status);
    expect(new Set(winners)).toEqual(new Set([200, 409]));
    expect(await app.db.query('select from door_holds where org_id = $1', [orgId])).toHaveLength(1);
  });

  it.each([
    ['a temporary one without an end', { mode: 'hold_open', kind: 'temporary' }, '/until'],
    ['an end in the past', { mode: 'hold_open', until: '2020-01-01T00:00:00Z' }, '/until'],
    [
      'a permanent one with an end',
      { mode: 'hold_open', kind: 'permanent', until: '2030-01-01T00:00:00Z' },
      '/until',
    ],
    ['a recurring one without hours', { mode: 'hold_closed', kind: 'recurring' }, '/recurrence'],
    [
      'hours of no length',
      { mode: 'hold_closed', recurrence: { days: [1], start: '10:00', end: '10:00' } },
      '/recurrence/end',
    ],
    [
      'an eighth day',
      { mode: 'hold_closed', recurrence: { days: [8], start: '10:00', end: '11:00' } },
      '/recurrence',
    ],
  ])('refuse %s', async (_name, body, path) => {
    const answer = await hold(body);
    expect(answer.status).toBe(400);
    expect(String(answer.body.details?.[0]?.path)).toContain(path);
  });

  it('need the role to change entities; reading one the role to read them', async () => {
    const reader = await person('entities:read', 'entities:set_state');
    const path = `/entities/${building.entityId}/hold`;
    expect((await request('GET', path, undefined, reader)).status).toBe(200);
    expect((await request('PUT', path, { mode: 'hold_closed' }, reader)).status).toBe(403);
  });

  describe('lockdown', () => {
    const path = () => `/orgs/${orgId}/lockdown`;

    it('denies every open here and below at once, on every node, and never a close', async () => {
      const childId = await app.world.org({ parentId: orgId });
      const child = await app.world.building(childId);
      const childAdmin = await app.world.user();
      await app.world.grant(childId, childAdmin, 'admin');
      const childToken = (await app.world.key(childId, childAdmin)).token;
      const inChild = (action: string) =>
        other.request('POST', `/entities/${child.entityId}/actions/${action}`, {
          token: childToken,
          body: {},
        });
      expect((await inChild('open')).status).toBe(200);
      const put = await request('PUT', path(), { active: true, reason: 'drill' });
      expect(put).toMatchObject({ status: 200, body: { active: true, org_id: orgId, reason: 'drill' } });
      for (const denied of [await act('open'), await inChild('open')]) {
        expect(denied).toMatchObject({ status: 403, body: { code: 'policy_denied' } });
        expect(denied.body.message).toContain(`lockdown: drill (lockdown ${put.body.id}`);
      }
      expect((await inChild('close')).status).toBe(200);
      const seen = await other.request('GET', `/orgs/${childId}/lockdown`, { token: childToken });
      expect(seen.body).toMatchObject({ active: true, org_id: orgId });
      // One below can not free itself.
      await other.request('PUT', `/orgs/${childId}/lockdown`, { token: childToken, body: { active: false } });
      expect((await inChild('open')).status).toBe(403);
      await request('PUT', path(), { active: false });
      expect((await inChild('open')).status).toBe(200);
    });

    it('closes what a hold keeps open, and nothing opens by itself when it is over', async () => {
      await hold({ mode: 'hold_open' });
      await sent(['open']);
      const until = new Date(clock.millis() + 5 * 60_000).toISOString();
      await request('PUT', path(), { active: true, until });
      await sent(['open', 'close']);
      await passTime(7 * 60_000);
      expect((await request('GET', path())).body).toMatchObject({ active: false });
      await looked();
      expect(await commands()).toEqual(['open', 'close']);
      const answer = await act('open');
      expect(answer.status).toBe(200);
      expect(answer.body).not.toHaveProperty('door_open_duration_seconds');
    });

    it('is for administrators', async () => {
      const manager = await person('policies:manage', 'entities:update');
      expect((await request('PUT', path(), { active: true }, manager)).status).toBe(403);
      expect((await request('GET', path(), undefined, manager)).status).toBe(200);
    });
  });
});

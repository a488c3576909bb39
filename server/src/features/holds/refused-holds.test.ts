import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { soon } from '../../../test/support/eventually.ts';
import { type Mosquitto, startMosquitto } from '../../../test/support/peers/mosquitto.ts';
import { createPortalSite, type MqttDoor, type PortalSite } from '../../../test/support/portal-site.ts';
import { createShiftedClock } from '../../../test/support/shifted-clock.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';

const clock = createShiftedClock();
const hourMs = 60 * 60_000;

describe('a close that is owed, and a hold of the same door', () => {
  let app: TestApp;
  let broker: Mosquitto;
  let site: PortalSite;
  let door: MqttDoor;
  let setter: { userId: string; keyId: string; token: string };
  let isAway = false;

  beforeAll(async () => {
    broker = await startMosquitto();
    app = await startTestApp({
      clock,
      // The hours that a test lets pass must not end the leases of its doors.
      leaseMs: 86_400_000,
      wrapEngine: (deps) => ({
        ...deps,
        deliveries: {
          ...deps.deliveries,
          deliver: async (...command) => {
            if (!isAway) return deps.deliveries.deliver(...command);
            await later('held_open');
            return { kind: 'not_sent', reason: 'away' };
          },
        },
      }),
    });
  });
  afterAll(async () => {
    await app.close();
    await broker.close();
  });
  beforeEach(async () => {
    clock.aheadMs = 0;
    isAway = false;
    site = await createPortalSite(app);
    door = await site.mqttDoor(broker);
    const userId = await app.world.user();
    await app.world.grant(site.orgId, userId, 'entities:update', 'entities:set_state');
    const { token, id } = await app.world.key(site.orgId, userId);
    setter = { userId, keyId: id, token };
  });

  /** So long that nothing comes due by itself. */
  const openFor = (seconds: number, entityId = door.id) =>
    app.request('POST', `/entities/${entityId}/actions/open`, {
      token: site.token,
      body: { auto_close: seconds },
    });
  const holdInOneHour = async () => {
    const at = (hours: number) => new Date(clock.millis() + hours * hourMs).toISOString().slice(11, 16);
    const recurrence = { days: [1, 2, 3, 4, 5, 6, 7], start: at(1), end: at(2) };
    const body = { mode: 'hold_open', recurrence };
    const put = await app.request('PUT', `/entities/${door.id}/hold`, { token: setter.token, body });
    expect(put.status, put.text).toBe(200);
    return String(put.body.id);
  };
  const dueNow = (table: 'hold_jobs' | 'held_open' | 'close_jobs') =>
    app.db.query(`update ${table} set due_at = now() where org_id = $1`, [site.orgId]);
  /** What was tried comes back when the test says so, and not by itself after six seconds. */
  const later = (table: 'held_open' | 'close_jobs') =>
    app.db.query(`update ${table} set due_at = now() + interval '1 hour' where org_id = $1`, [site.orgId]);
  const windowBegins = () => {
    clock.aheadMs += hourMs + 60_000;
    return dueNow('hold_jobs');
  };
  const revoke = () => app.db.query('delete from role_grants where user_id = $1', [setter.userId]);
  const outcomeOfHold = async (holdId: string) =>
    (await site.events()).filter(({ details }) => details.hold_id === holdId).map(({ outcome }) => outcome);
  const held = (holdId: string, outcome: string) =>
    vi.waitFor(async () => expect(await outcomeOfHold(holdId)).toEqual([outcome]), soon);
  const closeJobs = () =>
    app.db.query<{ entity_id: string; attempts: number }>(
      'select entity_id, attempts from close_jobs where org_id = $1',
      [site.orgId],
    );
  const heard = (...commands: string[]) => vi.waitFor(() => expect(door.heard).toEqual(commands), soon);

  it.each([
    ['may not open any more', `delete from role_grants where user_id = $1 and $2 <> ''`],
    ['has lost the key', 'update api_keys set revoked_at = now() where created_by_user_id = $1 and id = $2'],
    ['is gone', `update users set deleted_at = now() where id = $1 and $2 <> ''`],
  ])('who set it %s: an open in its window has its pulse, and is closed', async (_name, change) => {
    const holdId = await holdInOneHour();
    await app.db.query(change, [setter.userId, setter.keyId]);
    await windowBegins();
    await held(holdId, 'denied');
    const preview = await app.request('POST', `/entities/${door.id}/actions/open/preview`, {
      token: site.token,
      body: { auto_close: 600 },
    });
    expect(preview.body.effect).toMatchObject({ pulse_seconds: 600 });
    const answer = await openFor(600);
    expect(answer.body).toMatchObject({ outcome: 'succeeded', door_open_duration_seconds: 600 });
    await dueNow('close_jobs');
    await heard('ON', 'OFF');
    await vi.waitFor(async () => expect(await closeJobs()).toEqual([]), soon);
  });

  it('refused: a portal over the door gives it the pulse, and the door is closed', async () => {
    const portal = await site.portal([door.id]);
    const holdId = await holdInOneHour();
    await revoke();
    await windowBegins();
    await held(holdId, 'denied');
    expect((await openFor(600, portal)).body).toMatchObject({ door_open_duration_seconds: 600 });
    expect(await closeJobs()).toMatchObject([{ entity_id: door.id }]);
    await dueNow('close_jobs');
    await heard('ON', 'OFF');
  });

  it('refused: what was opened before its window is closed in it, with an event', async () => {
    const holdId = await holdInOneHour();
    expect((await openFor(600)).status).toBe(200);
    await revoke();
    await windowBegins();
    await held(holdId, 'denied');
    await dueNow('close_jobs');
    await heard('ON', 'OFF');
    await vi.waitFor(async () => {
      const [last] = (await site.events()).slice(-1);
      expect(last).toMatchObject({ outcome: 'succeeded', details: { command: 'close', automatic: true } });
    }, soon);
  });

  it('refused before it was even looked at: the close is carried out all the same', async () => {
    await holdInOneHour();
    expect((await openFor(600)).status).toBe(200);
    await revoke();
    // Its window has begun, and nobody has come to open it yet.
    clock.aheadMs += hourMs + 60_000;
    await dueNow('close_jobs');
    await heard('ON', 'OFF');
  });

  it('let through: the hold has the door, and closes it at its own end', async () => {
    const holdId = await holdInOneHour();
    expect((await openFor(600)).status).toBe(200);
    await windowBegins();
    await held(holdId, 'succeeded');
    await dueNow('close_jobs');
    await vi.waitFor(async () => expect(await closeJobs()).toEqual([]), soon);
    expect((await openFor(600)).body).not.toHaveProperty('door_open_duration_seconds');
    expect(await closeJobs()).toEqual([]);
    await windowBegins();
    await heard('ON', 'ON', 'ON', 'OFF');
  });

  it('not yet let through: the close waits for it, and an open keeps its pulse', async () => {
    const holdId = await holdInOneHour();
    expect((await openFor(600)).status).toBe(200);
    isAway = true;
    await windowBegins();
    await held(holdId, 'failed');
    isAway = false;
    expect((await openFor(600)).body).toMatchObject({ door_open_duration_seconds: 600 });
    await dueNow('close_jobs');
    await vi.waitFor(async () => expect(await closeJobs()).toMatchObject([{ attempts: 1 }]), soon);
    await later('close_jobs');
    await dueNow('held_open');
    await vi.waitFor(async () => expect(await outcomeOfHold(holdId)).toEqual(['failed', 'succeeded']), soon);
    expect(await closeJobs()).toHaveLength(1);
    await dueNow('close_jobs');
    await vi.waitFor(async () => expect(await closeJobs()).toEqual([]), soon);
    expect(door.heard).toEqual(['ON', 'ON', 'ON']);
  });
});

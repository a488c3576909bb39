import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { soon } from '../../test/support/eventually.ts';
import { type Mosquitto, startMosquitto } from '../../test/support/peers/mosquitto.ts';
import { createPortalSite, type MqttDoor, type PortalSite } from '../../test/support/portal-site.ts';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import type { Delivery } from '../providers/provider.ts';

describe('a device that does not answer', () => {
  let app: TestApp;
  let broker: Mosquitto;
  let hungSite: PortalSite;
  let site: PortalSite;
  let hung: MqttDoor;
  let door: MqttDoor;
  /** What was sent into the black hole, and what lets it come back. */
  const swallowed: { verb: string; letGo: () => void }[] = [];
  let swallows: (entityId: string, verb: string) => boolean = () => false;

  beforeAll(async () => {
    broker = await startMosquitto();
    app = await startTestApp({
      wrapEngine: (deps) => ({
        ...deps,
        deliveries: {
          ...deps.deliveries,
          deliver: async (place, verb, errand) => {
            if (!swallows(errand.entity.entityId, verb)) return deps.deliveries.deliver(place, verb, errand);
            await keepFromRecovery(errand.intentId);
            return new Promise<Delivery>((resolve) => {
              const letGo = () => resolve({ kind: 'unknown', reason: 'no answer' });
              swallowed.push({ verb, letGo });
            });
          },
        },
      }),
    });
  });
  /** It would call what hangs for long lost, however slow the test is. */
  const keepFromRecovery = (intentId: string) =>
    app.db.query(`update intents set not_after = now() + interval '1 hour' where id = $1`, [intentId]);
  const letGo = () => {
    for (const { letGo: release } of swallowed.splice(0)) release();
  };
  afterAll(async () => {
    letGo();
    await app.close();
    await broker.close();
  });
  beforeEach(async () => {
    letGo();
    swallows = () => false;
    hungSite = await createPortalSite(app);
    hung = await hungSite.mqttDoor(broker);
    site = await createPortalSite(app);
    door = await site.mqttDoor(broker);
  });

  const open = (where: PortalSite, { id }: MqttDoor, seconds: number) =>
    app.request('POST', `/entities/${id}/actions/open`, {
      token: where.token,
      body: { auto_close: seconds },
    });
  const hold = async (where: PortalSite, { id }: MqttDoor) => {
    const body = { mode: 'hold_open' };
    const put = await app.request('PUT', `/entities/${id}/hold`, { token: where.token, body });
    expect(put.status, put.text).toBe(200);
  };
  const automatic = async (where: PortalSite) =>
    (await where.events())
      .filter(({ details }) => details.automatic === true)
      .map(({ outcome, details }) => [details.command, outcome]);
  const happened = (where: PortalSite, ...events: string[][]) =>
    vi.waitFor(async () => expect(await automatic(where)).toEqual(events), soon);
  const sentInto = (...verbs: string[]) =>
    vi.waitFor(() => expect(swallowed.map(({ verb }) => verb)).toEqual(verbs), soon);

  it('holds up no close of another organization', async () => {
    swallows = (entityId, verb) => entityId === hung.id && verb === 'close';
    expect((await open(hungSite, hung, 0.1)).status).toBe(200);
    await sentInto('close');
    expect((await open(site, door, 0.1)).status).toBe(200);
    await happened(site, ['close', 'succeeded']);
    expect(door.heard).toEqual(['ON', 'OFF']);
    // The other one is still out there.
    expect(await automatic(hungSite)).toEqual([]);
    letGo();
    await happened(hungSite, ['close', 'unknown']);
  });

  it('is not told to close a second time while the first is under way', async () => {
    swallows = (entityId, verb) => entityId === hung.id && verb === 'close';
    expect((await open(hungSite, hung, 0.1)).status).toBe(200);
    await sentInto('close');
    const job = async (set: string) =>
      (
        await app.db.query<{ attempts: number }>(
          `update close_jobs set ${set} where org_id = $1 returning attempts`,
          [hungSite.orgId],
        )
      )[0]?.attempts;
    await job('due_at = now()');
    await vi.waitFor(async () => expect(await job('attempts = attempts')).toBeGreaterThan(1), soon);
    // What is claimed after it has been started by then.
    expect((await open(site, door, 0.1)).status).toBe(200);
    await happened(site, ['close', 'succeeded']);
    expect(swallowed).toHaveLength(1);
  });

  it('holds up no hold of another organization', async () => {
    swallows = (entityId, verb) => entityId === hung.id && verb === 'open';
    await hold(hungSite, hung);
    await sentInto('open');
    await hold(site, door);
    await happened(site, ['open', 'succeeded']);
    expect(door.heard).toEqual(['ON']);
    expect(await automatic(hungSite)).toEqual([]);
    letGo();
    await happened(hungSite, ['open', 'unknown']);
  });
});

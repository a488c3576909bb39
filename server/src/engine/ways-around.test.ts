// Ways to open a door other than an open of that door: a portal over it, and a toggle of a state that nobody knows.
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Mosquitto, startMosquitto } from '../../test/support/peers/mosquitto.ts';
import { createPortalSite, type MqttDoor, type PortalSite } from '../../test/support/portal-site.ts';
import { startTestApp, type TestApp } from '../../test/support/test-app.ts';
import type { BuildingIds } from '../../test/support/test-world.ts';

const soon = { timeout: 15_000, interval: 25 };
let app: TestApp;
let broker: Mosquitto;
let site: PortalSite;

beforeAll(async () => {
  broker = await startMosquitto();
  app = await startTestApp();
});
afterAll(async () => {
  await app.close();
  await broker.close();
});
beforeEach(async () => {
  site = await createPortalSite(app);
});

const request = (path: string, body: object) =>
  app.request('POST', path, { token: site.token, org: site.orgId, body });

/** A custom policy, of the organization unless a path says otherwise; its id. */
async function forbid(policy: string, at = `/orgs/${site.orgId}`, more: object = {}): Promise<string> {
  const answer = await request(`${at}/policies`, {
    policy_type: 'cedar',
    config: { policy, ...more },
  });
  expect(answer.status, answer.text).toBe(201);
  return String(answer.body.id);
}
const everything = 'forbid (principal, action, resource);';

/** Status and decision of an execute, and what the preview had said. */
async function outcomes(entityId: string, verb: 'open' | 'close' | 'toggle', body: object = {}) {
  const path = `/entities/${entityId}/actions/${verb}`;
  const preview = await request(`${path}/preview`, body);
  const { status, body: answer } = await request(path, body);
  return { preview: preview.body, status, message: String(answer.message), answer };
}

async function expectForbidden(entityId: string, verb: 'open' | 'toggle', policyId: string): Promise<void> {
  const { preview, status, message } = await outcomes(entityId, verb);
  expect([preview.decision, status], verb).toEqual(['deny', 403]);
  expect(message).toContain(`cedar ${policyId}`);
}

describe('a custom policy is not evaded by a portal', () => {
  let opener: BuildingIds;
  let other: BuildingIds;
  let portal: string;
  beforeEach(async () => {
    opener = await app.world.building(site.orgId);
    other = await app.world.building(site.orgId);
    portal = await site.portal([other.entityId, opener.entityId]);
  });

  const policies: [string, () => Promise<string>][] = [
    [
      'names an opener',
      () => forbid(`forbid (principal, action, resource == Entity::"${opener.entityId}");`),
    ],
    [
      'is of the integration of an opener',
      () => {
        const { integrationId } = opener;
        const policy = `forbid (principal, action, resource in Integration::"${integrationId}");`;
        return forbid(policy, `/integrations/${integrationId}`);
      },
    ],
    [
      'is of the device of an opener',
      () => {
        const { integrationId, deviceId } = opener;
        const policy = `forbid (principal, action, resource in Device::"${deviceId}");`;
        return forbid(policy, `/integrations/${integrationId}/devices/${deviceId}`);
      },
    ],
    [
      'asks for the time as well',
      () =>
        forbid(
          `forbid (principal, action, resource == Entity::"${opener.entityId}") when { context.minute >= 0 };`,
        ),
    ],
    ['selects an opener as its output', () => forbid(everything, undefined, { output: opener.entityId })],
  ];
  it.each(policies)('that %s', async (_name, create) => {
    const id = await create();
    await expectForbidden(opener.entityId, 'open', id);
    await expectForbidden(portal, 'open', id);
    expect((await outcomes(other.entityId, 'open')).status).toBe(200);
    expect((await outcomes(portal, 'close')).status).toBe(200);
    expect(await site.demoCommands(opener.entityId)).toEqual(['close']);
  });

  it('but one of the opener’s device is not asked about the portal', async () => {
    await forbid(
      `forbid (principal, action, resource == Entity::"${portal}");`,
      `/integrations/${opener.integrationId}/devices/${opener.deviceId}`,
    );
    expect(await outcomes(portal, 'open')).toMatchObject({ preview: { decision: 'allow' }, status: 200 });
  });
});

describe('a toggle of an unknown state is all that an open is', () => {
  const door = (config: Record<string, unknown> = {}): Promise<MqttDoor> => site.mqttDoor(broker, config);

  it.each(['open', 'toggle'])('and forbidden by a policy about %s', async (action) => {
    const { id, heard } = await door();
    const policyId = await forbid(`forbid (principal, action == Action::"${action}", resource);`);
    await expectForbidden(id, 'toggle', policyId);
    expect((await outcomes(id, 'open')).status).toBe(action === 'open' ? 403 : 200);
    expect(heard).toEqual(action === 'open' ? [] : ['ON']);
  });

  it('and spaced like one', async () => {
    const { id, heard } = await door({ min_interval_ms: 600_000 });
    const first = await outcomes(id, 'toggle');
    expect(first, first.message).toMatchObject({
      preview: { provider: { min_interval_ms: 600_000, ready_in_ms: 0 } },
      status: 200,
    });
    expect((await outcomes(id, 'open')).status).toBe(429);
    expect(heard).toEqual(['TOGGLE']);
  });

  it('and counted like one', async () => {
    const { id } = await door();
    const { preview, status } = await outcomes(id, 'toggle');
    expect(status).toBe(200);
    expect(preview.quotas).toEqual(expect.arrayContaining([expect.objectContaining({ key: 'door_opens' })]));
    const counted = () =>
      app.db.query<{ count: number }>(
        `select sum(count)::int as count from usage_counters where org_id = $1 and key = 'door_opens'`,
        [site.orgId],
      );
    expect(await counted()).toEqual([{ count: 1 }]);
    // Now it is known to be open: this one is a close.
    expect((await outcomes(id, 'toggle')).answer).toMatchObject({ state: 'closed' });
    expect(await counted()).toEqual([{ count: 1 }]);
  });

  it('and closed again after its time', async () => {
    const { id, heard } = await door();
    const { answer } = await outcomes(id, 'toggle', { auto_close: 0.2 });
    expect(answer).toMatchObject({ state: 'open', door_open_duration_seconds: 0.2 });
    await vi.waitFor(() => expect(heard).toEqual(['TOGGLE', 'OFF']), soon);
  });
});

import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dialInUrl } from '../src/providers/transport/dial-in.ts';
import { eventually } from './support/eventually.ts';
import { type ShellyDevicePeer, startShellyDevice } from './support/peers/shelly-device-peer.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { type BuildingIds, rootAdminId, testPepper } from './support/test-world.ts';

const shellyId = 'shellyplus1-a8032abe41fc';

describe('a device that dials in', () => {
  let node: TestApp;
  let orgId: string;
  let token: string;
  let building: BuildingIds;
  let device: ShellyDevicePeer;

  beforeEach(async () => {
    node = await startTestApp();
    await node.app.http.listen({ host: '127.0.0.1', port: 0 });
    orgId = await node.world.org();
    // Nobody may take it up before it is what it shall be.
    building = await node.world.building(orgId, { enabled: false });
    await node.world.grant(orgId, rootAdminId, 'admin');
    ({ token } = await node.world.key(orgId, rootAdminId));
    await node.db.query('update devices set device_metadata = $2 where id = $1', [
      building.deviceId,
      { 'shelly.device_id': shellyId },
    ]);
    await setIntegration(`provider_type = 'shelly_websocket', enabled = true`);
    device = await plugIn();
  });
  afterEach(async () => {
    await device.unplug();
    await node.close();
  });

  const setIntegration = (change: string) =>
    node.db.query(`update integrations set ${change} where id = $1`, [building.integrationId]);
  const act = (action: string) =>
    node.request('POST', `/entities/${building.entityId}/actions/switchable.${action}`, {
      token,
      org: orgId,
      body: {},
    });
  const storedStatus = async (): Promise<unknown> => {
    const text = 'select status from entity_states where entity_id = $1';
    const [row] = await node.db.query<{ status: string }>(text, [building.entityId]);
    return row?.status;
  };

  /** The integration is taken up within a moment; until then the address is unknown. */
  function plugIn(): Promise<ShellyDevicePeer> {
    const { port } = node.app.http.server.address() as AddressInfo;
    const url = dialInUrl(`http://127.0.0.1:${port}`, testPepper, building.integrationId);
    return startShellyDevice({ url, id: shellyId });
  }

  it('is opened through the API and tells its state', async () => {
    await eventually(async () => (await storedStatus()) === 'closed');
    expect((await act('open')).status).toBe(200);
    expect(device.switches[0]).toBe(true);
    expect(device.requests.at(-1)).toMatchObject({
      method: 'Switch.Set',
      params: { on: true, toggle_after: 5 },
    });
    device.press(0);
    await eventually(async () => (await storedStatus()) === 'closed');
  });

  it('is sent away when its integration is paused, and comes back', async () => {
    await eventually(async () => (await storedStatus()) === 'closed');
    await setIntegration('enabled = false');
    await eventually(() => !device.connected());
    const before = device.connections;
    await setIntegration('enabled = true');
    await eventually(() => device.connections > before);
  });

  it('does not keep the service from stopping', async () => {
    await node.app.http.close();
    await eventually(() => !device.connected());
  });
});

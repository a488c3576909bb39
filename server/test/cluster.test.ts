import type { AddressInfo } from 'node:net';
import type { MqttClient } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { dialInUrl } from '../src/providers/transport/dial-in.ts';
import { freePort } from './support/peers/free-port.ts';
import { type Mosquitto, startMosquitto } from './support/peers/mosquitto.ts';
import { type NatsServer, startNatsServer } from './support/peers/nats-server.ts';
import { startShellyDevice } from './support/peers/shelly-device-peer.ts';
import { createPortalSite } from './support/portal-site.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { type BuildingIds, rootAdminId, testPepper } from './support/test-world.ts';

const wait = { timeout: 20_000, interval: 50 };

describe.each(['http', 'nats'] as const)('two nodes that reach each other by %s', (way) => {
  let broker: Mosquitto;
  let nats: NatsServer | null = null;
  let device: MqttClient;
  let nodes: [TestApp, TestApp];
  let orgId: string;
  let token: string;
  let door: BuildingIds;
  const heard: string[] = [];

  beforeAll(async () => {
    broker = await startMosquitto({ lines: ['sys_interval 1'] });
    nats = way === 'nats' ? await startNatsServer() : null;
    device = await broker.client();
    device.on('message', (topic, payload) => {
      if (topic !== 'door/set') return;
      heard.push(payload.toString());
      device.publish('door/state', payload);
    });
    await device.subscribeAsync('door/set');
    const env = async () => ({
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
      ...(nats === null ? {} : { NATS_URL: nats.url }),
    });
    const first = await startTestApp({ env: await env(), leaseMs: 10_000 });
    await first.app.listen();
    const second = await first.secondNode({ env: await env() });
    await second.app.listen();
    nodes = [first, second];
    orgId = await first.world.org();
    await first.world.grant(orgId, rootAdminId, 'admin');
    ({ token } = await first.world.key(orgId, rootAdminId));
    door = await mqttDoor();
  });
  afterAll(async () => {
    for (const node of nodes.toReversed()) await node.close();
    await broker.close();
    await nats?.close();
  });

  async function mqttDoor(): Promise<BuildingIds> {
    const { db, world } = nodes[0];
    // Nobody may take it up before it is what it shall be.
    const building = await world.building(orgId, { enabled: false });
    const metadata = { command_topic: 'door/set', state_topic: 'door/state' };
    await db.query('update entities set metadata = $2 where id = $1', [building.entityId, metadata]);
    await db.query(
      `update integrations set provider_type = 'mqtt', config = $2, enabled = true where id = $1`,
      [building.integrationId, { broker_host: '127.0.0.1', broker_port: broker.port }],
    );
    return building;
  }

  const act = (node: TestApp, entityId: string) =>
    node.request('POST', `/entities/${entityId}/actions/open`, { token, org: orgId, body: {} });
  const leaseOf = async (integrationId: string) => {
    const text = `select n.address, l.epoch, l.node_id from connection_leases l join nodes n on n.id = l.node_id
      where l.integration_id = $1`;
    const [row] = await nodes[0].db.query<{ address: string; epoch: string; node_id: string }>(text, [
      integrationId,
    ]);
    return row;
  };
  const addressOf = (node: TestApp) =>
    `http://127.0.0.1:${(node.app.http.server.address() as AddressInfo).port}`;
  const ownerOf = async (integrationId: string): Promise<{ owner: TestApp; other: TestApp }> => {
    const address = (await leaseOf(integrationId))?.address;
    const [one, two] = nodes;
    return address === addressOf(one) ? { owner: one, other: two } : { owner: two, other: one };
  };

  it('open through either, and each open is one command', async () => {
    await vi.waitFor(async () => expect((await act(nodes[0], door.entityId)).status).toBe(200), wait);
    const before = heard.length;
    for (const node of [...nodes, ...nodes]) expect((await act(node, door.entityId)).status).toBe(200);
    expect(heard).toHaveLength(before + 4);
  });

  it('hold one connection between them', async () => {
    const counts: number[] = [];
    const watcher = await broker.client();
    watcher.on('message', (_topic, payload) => counts.push(Number(payload.toString())));
    await watcher.subscribeAsync('$SYS/broker/clients/connected');
    // Besides the one of the service: the device and the watcher.
    await vi.waitFor(() => expect(counts.at(-1)).toBe(3), wait);
    const health = await Promise.all(nodes.map((node) => node.app.http.inject('/healthz')));
    const leases = health.map((answer) => answer.json<{ leases: number }>().leases);
    expect(leases.toSorted()).toEqual([0, 1]);
    await watcher.endAsync();
  });

  it('tell the same health of it', async () => {
    const healthOn = async (node: TestApp) => {
      const path = `/integrations/${door.integrationId}`;
      return (await node.request('GET', path, { token, org: orgId })).body;
    };
    const { owner, other } = await ownerOf(door.integrationId);
    await vi.waitFor(async () => expect(await healthOn(other)).toEqual(await healthOn(owner)), wait);
  });

  it('let one of 200 opens at the same moment through an interval', async () => {
    const { integrationId, entityId } = await nodes[0].world.building(orgId, {
      config: { min_interval_ms: 60_000 },
    });
    expect(integrationId).toBeDefined();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => act(nodes[index % 2] as TestApp, entityId)),
    );
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect(statuses.get(200)).toHaveLength(1);
    expect(statuses.get(429)).toHaveLength(199);
  });

  it('follow a change that was made on the other', async () => {
    const { owner, other } = await ownerOf(door.integrationId);
    const before = heard.length;
    await other.db.query(
      `update entities set metadata = metadata || '{"open_payload": "GO"}' where id = $1`,
      [door.entityId],
    );
    expect((await act(other, door.entityId)).status).toBe(200);
    expect((await act(owner, door.entityId)).status).toBe(200);
    expect(heard.slice(before)).toEqual(['GO', 'GO']);
  });

  it('take a device that dials the wrong one to the right one', async () => {
    const building = await nodes[0].world.building(orgId, { enabled: false });
    const id = 'shellyplus1-a8032abe41fc';
    const metadata = { 'shelly.device_id': id };
    await nodes[0].db.query('update devices set device_metadata = $2 where id = $1', [
      building.deviceId,
      metadata,
    ]);
    await nodes[0].db.query(
      `update integrations set provider_type = 'shelly_websocket', enabled = true where id = $1`,
      [building.integrationId],
    );
    await vi.waitFor(async () => expect(await leaseOf(building.integrationId)).toBeDefined(), wait);
    const { owner, other } = await ownerOf(building.integrationId);
    const url = dialInUrl(addressOf(other), testPepper, building.integrationId);
    const shelly = await startShellyDevice({ url, id });
    await vi.waitFor(async () => expect((await act(owner, building.entityId)).status).toBe(200), wait);
    expect((await act(other, building.entityId)).status).toBe(200);
    expect(shelly.switches[0]).toBe(true);
    // Ops and discovery as well: only the owner knows who has dialled in.
    for (const node of [owner, other]) {
      const look = (path: string) =>
        node.request('GET', `/integrations/${building.integrationId}/${path}`, { token, org: orgId });
      const run = (op: string) =>
        node.request('POST', `/integrations/${building.integrationId}/ops/${op}`, {
          token,
          org: orgId,
          body: {},
        });
      const found = await look('discovered-devices');
      expect(found.body).toMatchObject([{ external_id: id, already_added: true }]);
      expect((await run('connection.test')).body).toMatchObject({ health: 'ok' });
      expect((await run('dial_in.url')).body.url).toContain(building.integrationId);
      expect((await run('no.such.op')).status).toBe(501);
    }
    await shelly.unplug();
  });

  it('open a portal on either, wherever its opener is held, as soon as it is there', async () => {
    for (let round = 0; round < 4; round += 1) {
      const [creator, opener] = round % 2 === 0 ? nodes : nodes.toReversed();
      const site = await createPortalSite(creator as TestApp);
      const far = await site.mqttDoor(broker);
      const portal = await site.portal([far.id]);
      for (const node of [opener, creator] as TestApp[]) {
        const path = `/entities/${portal}/actions/open`;
        const answer = await node.request('POST', path, { token: site.token, org: site.orgId, body: {} });
        expect(answer.status, answer.text).toBe(200);
      }
      expect(far.heard).toHaveLength(2);
      await far.client.endAsync();
    }
  });

  it('hand over when one leaves, and the other goes on', async () => {
    const { owner, other } = await ownerOf(door.integrationId);
    const before = heard.length;
    const opening = Array.from({ length: 10 }, () => act(other, door.entityId));
    const leaving = owner.app.leave();
    const readiness = await owner.app.http.inject('/readyz');
    expect([readiness.statusCode, readiness.headers.connection]).toEqual([503, 'close']);
    expect((await other.app.http.inject('/readyz')).statusCode).toBe(200);
    await leaving;
    const after = await act(owner, door.entityId);
    const statuses = [...(await Promise.all(opening)), after].map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(heard).toHaveLength(before + 11);
    expect((await ownerOf(door.integrationId)).owner).toBe(other);
  });
});

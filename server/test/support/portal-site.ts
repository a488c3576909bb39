import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { expect, vi } from 'vitest';
import { ulid } from '../../src/kernel/ulid.ts';
import type { Mosquitto } from './peers/mosquitto.ts';
import type { Answer, TestApp } from './test-app.ts';
import { rootAdminId } from './test-world.ts';

export interface ActionEventRow {
  readonly outcome: string;
  readonly resource_id: string;
  readonly correlation_id: string;
  readonly actor_api_key_id: string | null;
  readonly details: Record<string, unknown>;
}

/** An organization with a site, and doors of other integrations for it, all made through the API. */
export interface PortalSite {
  readonly orgId: string;
  readonly token: string;
  readonly integrationId: string;
  /** A device of the site and one entity of it. Without `kind` it is a portal. */
  device(metadata: Record<string, unknown>, entityType?: string): Promise<{ deviceId: string; id: string }>;
  portal(openers: readonly string[], more?: Record<string, unknown>): Promise<string>;
  /** A device that notes what it hears and reports the state it takes. */
  mqttDoor(broker: Mosquitto, config?: Record<string, unknown>): Promise<MqttDoor>;
  act(entityId: string, verb?: 'open' | 'close' | 'toggle', token?: string): Promise<Answer>;
  /** What the simulated device of this entity was told. */
  demoCommands(entityId: string): Promise<string[]>;
  events(): Promise<ActionEventRow[]>;
}

export interface MqttDoor {
  readonly id: string;
  readonly integrationId: string;
  readonly heard: readonly string[];
  readonly client: MqttClient;
}

const soon = { timeout: 15_000, interval: 25 };

export async function createPortalSite(app: TestApp, providerType = 'virtual_access'): Promise<PortalSite> {
  const orgId = await app.world.org();
  const { token } = await app.world.key(orgId, rootAdminId);
  const post = async (path: string, body: unknown): Promise<string> => {
    const answer = await app.request('POST', path, { token, org: orgId, body });
    expect(answer.status, answer.text).toBe(201);
    return String(answer.body.id);
  };
  const integration = (type: string, config: object) =>
    post('/integrations', { org_id: orgId, provider_type: type, name: { en: type }, config });
  const integrationId = await integration(providerType, {});
  const kind = providerType === 'commissary' ? 'commissary_cabinet' : 'virtual_access_portal';
  const device: PortalSite['device'] = async (metadata, entityType = 'door') => {
    const body = { org_id: orgId, integration_id: integrationId, name: { en: 'Portal' } };
    const deviceId = await post('/devices', { ...body, device_metadata: { kind, ...metadata } });
    return { deviceId, id: await post('/entities', { device_id: deviceId, entity_type: entityType }) };
  };
  return {
    orgId,
    token,
    integrationId,
    device,
    portal: async (openers, more = {}) => {
      const parts = openers.map((entity_id) => ({ entity_id }));
      return (await device({ virtual_access: { openers: parts, ...more } })).id;
    },
    mqttDoor: async (broker, config = {}) => {
      const topic = `door/${ulid()}`;
      const far = await listen(broker, topic);
      const home = await integration('mqtt', {
        broker_host: '127.0.0.1',
        broker_port: broker.port,
        ...config,
      });
      const body = { org_id: orgId, integration_id: home, name: { en: 'Relay' } };
      const deviceId = await post('/devices', body);
      const metadata = { command_topic: `${topic}/set`, state_topic: `${topic}/state` };
      const id = await post('/entities', { device_id: deviceId, entity_type: 'switch', metadata });
      await vi.waitFor(async () => {
        const answer = await app.request('GET', `/integrations/${home}`, { token, org: orgId });
        expect(answer.body.health).toBe('ok');
      }, soon);
      return { id, integrationId: home, ...far };
    },
    act: (entityId, verb = 'open', as = token) =>
      app.request('POST', `/entities/${entityId}/actions/switchable.${verb}`, { token: as, body: {} }),
    demoCommands: (entityId) => demoCommands(app.dataDir, entityId),
    events: () =>
      app.db.query<ActionEventRow>(
        `select outcome, resource_id, correlation_id, actor_api_key_id, details from audit_events
         where org_id = $1 and event_type = 'entity.action' order by occurred_at, id`,
        [orgId],
      ),
  };
}

export async function demoCommands(dataDir: string, entityId: string): Promise<string[]> {
  const file = join(dataDir, 'virtual-demo', 'commands.jsonl');
  const text = await readFile(file, 'utf8').catch(() => '');
  const lines = text.split('\n').filter(Boolean);
  const told = lines.map((line) => JSON.parse(line) as { entity_id: string; command: string });
  return told.filter((line) => line.entity_id === entityId).map((line) => line.command);
}

async function listen(broker: Mosquitto, topic: string): Promise<{ heard: string[]; client: MqttClient }> {
  const client = await broker.client();
  const heard: string[] = [];
  let state = 'OFF';
  client.on('message', (_topic, payload) => {
    const command = payload.toString();
    heard.push(command);
    const opposite = state === 'ON' ? 'OFF' : 'ON';
    state = command === 'TOGGLE' ? opposite : command;
    client.publish(`${topic}/state`, state);
  });
  await client.subscribeAsync(`${topic}/set`, { qos: 1 });
  return { heard, client };
}

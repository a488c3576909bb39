import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ulid } from '../../src/kernel/ulid.ts';
import { eventually } from '../support/eventually.ts';
import { type Mosquitto, startMosquitto } from '../support/peers/mosquitto.ts';
import { type PeerProcess, startPeerProcess } from '../support/peers/peer-process.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { rootAdminId } from '../support/test-world.ts';
import { report } from './table.ts';

/** Seconds in `npm test`; minutes with `npm run test:providers -- --soak`, where back-off gets to its longest wait. */
const isLong = process.env.LINTEL_TEST_SOAK !== undefined;
const [cycles, downMs] = isLong ? [12, 25_000] : [3, 1_000];
const INTEGRATIONS = 10;
const DEVICES = 500;
const OPENED = 20;
/** The promise of the issue. */
const BACK_WITHIN_MS = 30_000;
const QUIET_MS = 1_500;
/** What a heap may differ by that keeps nothing: caches, pools and inlined code settle in the first rounds. */
const HEAP_SLACK_MB = 12;

const program = fileURLToPath(new URL('../support/peers/mqtt-devices.ts', import.meta.url));
const isCommand = /^soak\/\d+\/set$/;
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

describe('500 MQTT devices on one broker', () => {
  let node: TestApp;
  let broker: Mosquitto;
  let devices: PeerProcess;
  let orgId: string;
  let token: string;
  let entityIds: string[];

  beforeAll(async () => {
    broker = await startMosquitto({ logs: true });
    devices = startPeerProcess(process.execPath, [program, String(broker.port), String(DEVICES)]);
    node = await startTestApp();
    orgId = await node.world.org();
    ({ token } = await node.world.key(orgId, rootAdminId));
    entityIds = await addDevices(node, orgId, broker.port);
    await allReport('closed');
  });
  afterAll(async () => {
    await devices.stop();
    await broker.close();
    await node.close();
  });

  /** Every link is up and every single device was heard since, through the broker. */
  async function allReport(status: 'open' | 'closed'): Promise<void> {
    await eventually(() => devices.lines.at(-1) === `ready ${DEVICES}`, BACK_WITHIN_MS);
    await eventually(async () => (await countOf(status)) === DEVICES, BACK_WITHIN_MS, 100);
  }
  async function countOf(status: string): Promise<number> {
    const text = 'select count(*)::int as n from entity_states where org_id = $1 and status = $2';
    const [row] = await node.db.query<{ n: number }>(text, [orgId, status]);
    return row?.n ?? 0;
  }
  /** Some doors of every integration. */
  function openSome(): Promise<number[]> {
    const some = entityIds.filter((_, index) => index % (DEVICES / OPENED) === 0);
    const open = (id: string) =>
      node.request('POST', `/entities/${id}/actions/open`, { token, org: orgId, body: {} });
    return Promise.all(some.map(async (id) => (await open(id)).status));
  }
  const commands = (): number => broker.published(isCommand).length;
  const heapMb = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };

  it('all come back within 30 s of the broker, are told nothing by themselves, and leave no memory behind', {
    timeout: 60_000 + cycles * (downMs + BACK_WITHIN_MS),
  }, async () => {
    const backAfter: number[] = [];
    const heaps: number[] = [];
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      const before = commands();
      expect(await openSome()).toEqual(Array(OPENED).fill(200));
      expect(commands()).toBe(before + OPENED);

      await broker.kill();
      devices.write(`state ${cycle % 2 === 0 ? 'ON' : 'OFF'}\n`);
      await delay(downMs);
      expect(await openSome()).toEqual(Array(OPENED).fill(502));

      await broker.start();
      const startedAt = performance.now();
      await allReport(cycle % 2 === 0 ? 'open' : 'closed');
      const seconds = (performance.now() - startedAt) / 1000;
      expect(seconds).toBeLessThan(BACK_WITHIN_MS / 1000);
      backAfter.push(seconds);
      await delay(QUIET_MS);
      expect(commands(), 'commands without a request').toBe(before + OPENED);
      heaps.push(heapMb());
    }
    expect(await openSome()).toEqual(Array(OPENED).fill(200));
    report(
      `soak: ${DEVICES} MQTT devices, ${cycles} times kill -9 of the broker for ${downMs / 1000} s: all back after ` +
        `${backAfter.map((seconds) => seconds.toFixed(1)).join(', ')} s; 0 commands without a request; heap ` +
        `${heaps.map((mb) => mb.toFixed(1)).join(', ')} MB`,
    );
    expect((heaps.at(-1) ?? 0) - (heaps[0] ?? 0)).toBeLessThan(HEAP_SLACK_MB);
  });
});

async function addDevices(node: TestApp, orgId: string, port: number): Promise<string[]> {
  const integrationIds = Array.from({ length: INTEGRATIONS }, () => ulid());
  const config = { broker_host: '127.0.0.1', broker_port: port };
  for (const id of integrationIds) {
    await node.db.query(
      `insert into integrations (org_id, id, provider_type, name, config) values ($1, $2, 'mqtt', '{"en":"Soak"}', $3)`,
      [orgId, id, config],
    );
  }
  const rows = Array.from({ length: DEVICES }, (_, index) => ({
    device: ulid(),
    entity: ulid(),
    integration: integrationIds[index % INTEGRATIONS],
    metadata: { command_topic: `soak/${index}/set`, state_topic: `soak/${index}/state` },
  }));
  await node.db.query(
    `insert into devices (org_id, id, integration_id, name)
     select $1, r->>'device', r->>'integration', '{"en":"Switch"}' from jsonb_array_elements($2::jsonb) r`,
    [orgId, JSON.stringify(rows)],
  );
  await node.db.query(
    `insert into entities (org_id, id, device_id, entity_type, metadata)
     select $1, r->>'entity', r->>'device', 'switch', r->'metadata' from jsonb_array_elements($2::jsonb) r`,
    [orgId, JSON.stringify(rows)],
  );
  return rows.map(({ entity }) => entity);
}

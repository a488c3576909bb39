import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import {
  type ConnectedProvider,
  commandTo,
  connectProvider,
  entityOf,
} from '../../../test/support/connected-provider.ts';
import { soon } from '../../../test/support/eventually.ts';
import { freePort } from '../../../test/support/peers/free-port.ts';
import { type Mosquitto, startMosquitto } from '../../../test/support/peers/mosquitto.ts';
import { startTcpCut, type TcpCut } from '../../../test/support/peers/tcp-cut.ts';
import { selfSigned } from '../../../test/support/self-signed.ts';
import { mqtt } from './mqtt.provider.ts';

const { certificate, key } = selfSigned('127.0.0.1');
let broker: Mosquitto;
let cuts: Record<'TCP' | 'TLS', TcpCut>;
let provider: ConnectedProvider;
let heard: string[];

const entityWith = (qos: string) => entityOf({ metadata: { command_topic: 'door/set', qos } });

beforeAll(async () => {
  const tlsPort = await freePort();
  broker = await startMosquitto({
    lines: [`listener ${tlsPort} 127.0.0.1`, 'certfile {dir}/cert.pem', 'keyfile {dir}/key.pem'],
    files: { 'cert.pem': certificate, 'key.pem': key },
  });
  cuts = { TCP: await startTcpCut(broker.port), TLS: await startTcpCut(tlsPort) };
  const device = await broker.client();
  device.on('message', (_topic, payload) => void heard.push(payload.toString()));
  await device.subscribeAsync('door/set');
});
beforeEach(() => {
  heard = [];
});
afterEach(async () => {
  for (const cut of Object.values(cuts)) cut.cut('none');
  await provider.connection.close();
});
afterAll(async () => {
  for (const cut of Object.values(cuts)) await cut.close();
  await broker.close();
});

async function connected(over: 'TCP' | 'TLS', entity: ReturnType<typeof entityOf>): Promise<TcpCut> {
  const tls = over === 'TLS' ? { tls: true, ca_certificate: certificate } : {};
  const config = { broker_host: '127.0.0.1', broker_port: cuts[over].port, ...tls };
  provider = connectProvider(mqtt, { config });
  provider.connection.bind([entity]);
  await vi.waitFor(() => expect(provider.connection.health()).toBe('ok'), soon);
  // Once it gets through, nothing that the link does by itself is on its way any more.
  await provider.connection.actions.close?.(commandTo(entity));
  await vi.waitFor(() => expect(heard).toEqual(['OFF']), soon);
  // The wire has also seen the end of the test before.
  await vi.waitFor(() => expect(cuts[over].connections()).toBe(1), soon);
  return cuts[over];
}

const WIRES = [
  ['0', 'TCP'],
  ['0', 'TLS'],
  ['1', 'TCP'],
  ['1', 'TLS'],
] as const;

it.each(WIRES)(
  'QoS %s over %s: what a stalled network held up is not heard when it flows again',
  async (qos, over) => {
    const entity = entityWith(qos);
    const cut = await connected(over, entity);
    const ended = cut.ended();
    cut.cut('hold');
    const delivery = await provider.connection.actions.open?.(commandTo(entity, { withinMs: 500 }));
    expect(delivery).toEqual({ kind: 'unknown', reason: 'the broker did not acknowledge' });
    await vi.waitFor(() => expect(cut.ended()).toBeGreaterThan(ended), soon);
    cut.cut('none');
    await vi.waitFor(() => expect(provider.connection.health()).toBe('ok'), soon);
    await provider.connection.actions.close?.(commandTo(entity));
    await vi.waitFor(() => expect(heard.filter((payload) => payload === 'OFF')).toHaveLength(2), soon);
    expect(heard).toEqual(['OFF', 'OFF']);
  },
);

it.each(WIRES)('QoS %s over %s: a link that is closed takes back what was held up', async (qos, over) => {
  const entity = entityWith(qos);
  const cut = await connected(over, entity);
  cut.cut('hold');
  const opening = provider.connection.actions.open?.(commandTo(entity));
  await delay(50);
  await provider.connection.close();
  expect(await opening).toMatchObject({ kind: 'unknown' });
  await vi.waitFor(() => expect(cut.connections()).toBe(0), soon);
  cut.cut('none');
  const other = await broker.client();
  await other.publishAsync('door/set', 'END', { qos: 1 });
  await vi.waitFor(() => expect(heard).toContain('END'), soon);
  expect(heard).toEqual(['OFF', 'END']);
});

it('QoS 0: is written when the broker has it, and keeps the connection', async () => {
  const entity = entityWith('0');
  const cut = await connected('TCP', entity);
  for (let count = 0; count < 3; count += 1)
    expect(await provider.connection.actions.open?.(commandTo(entity))).toEqual({
      kind: 'unknown',
      reason: 'nobody acknowledges a command of QoS 0',
    });
  await vi.waitFor(() => expect(heard).toEqual(['OFF', 'ON', 'ON', 'ON']), soon);
  cut.cut('replies');
  expect(await provider.connection.actions.open?.(commandTo(entity, { withinMs: 300 }))).toEqual({
    kind: 'unknown',
    reason: 'the broker did not acknowledge',
  });
});

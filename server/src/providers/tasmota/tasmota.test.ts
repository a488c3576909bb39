import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type ConnectedProvider,
  commandTo,
  connectProvider,
  entityOf,
} from '../../../test/support/connected-provider.ts';
import { soon } from '../../../test/support/eventually.ts';
import { type Mosquitto, startMosquitto } from '../../../test/support/peers/mosquitto.ts';
import { startTasmotaHttp, startTasmotaMqtt } from '../../../test/support/peers/tasmota-peer.ts';
import { startTcpCut } from '../../../test/support/peers/tcp-cut.ts';
import { tasmota } from './tasmota.provider.ts';

const openedBy = { kind: 'delivered', observed: 'open' };
const closedBy = { kind: 'delivered', observed: 'closed' };
const opened: ConnectedProvider[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ connection }) => connection.close()));
});

function connect(
  entities: readonly ReturnType<typeof entityOf>[],
  config: Record<string, unknown>,
  secrets = {},
) {
  const provider = connectProvider(tasmota, { config, secrets });
  opened.push(provider);
  provider.connection.bind(entities);
  return provider;
}

const isUp = ({ connection }: ConnectedProvider) =>
  vi.waitFor(() => expect(connection.health()).toBe('ok'), soon);

describe('over MQTT', () => {
  let broker: Mosquitto;
  let counter = 0;
  beforeAll(async () => {
    broker = await startMosquitto();
  });
  afterAll(() => broker.close());

  const nextTopic = (): string => `gate${++counter}`;
  const relay = (topic: string, channel = 1, device = {}) =>
    entityOf({
      metadata: { channel_index: String(channel) },
      deviceMetadata: { topic, ...device },
      deviceId: topic,
    });
  const via = (port = broker.port, more = {}) => ({ broker_host: '127.0.0.1', broker_port: port, ...more });

  /** Any command comes back only when the link has ended its search for retained ones. */
  const settled = async ({ connection }: ConnectedProvider) =>
    expect(await connection.actions.open?.(commandTo(relay('nowhere')))).toMatchObject({ kind: 'not_sent' });

  it.each([
    [1, 5],
    [2, 5],
    [2, 4],
  ])(
    'switches the last of %i relays and believes the device, protocol version %i',
    async (relays, version) => {
      const topic = nextTopic();
      const far = await startTasmotaMqtt({ port: broker.port, topic, relays });
      const entity = relay(topic, relays);
      const provider = connect([entity], via(broker.port, { transport: 'mqtt', protocol_version: version }));
      await isUp(provider);
      const { actions } = provider.connection;
      expect(await actions.open?.(commandTo(entity))).toEqual(openedBy);
      expect(far.isOn(relays)).toBe(true);
      expect(await actions.close?.(commandTo(entity))).toEqual(closedBy);
      expect(await actions.toggle?.(commandTo(entity))).toEqual(openedBy);
      expect(far.commands).toEqual(['ON', 'OFF', 'TOGGLE'].map((word) => `POWER${relays} ${word}`));
    },
  );

  it('follows a FullTopic of another order', async () => {
    const topic = nextTopic();
    const topicOf = (prefix: string) => `tasmota/${topic}/${prefix}/`;
    const far = await startTasmotaMqtt({ port: broker.port, topic, topicOf });
    const entity = relay(topic, 1, { full_topic: 'tasmota/%topic%/%prefix%/' });
    const provider = connect([entity], via());
    await isUp(provider);
    expect(await provider.connection.actions.open?.(commandTo(entity))).toEqual(openedBy);
    expect(far.isOn(1)).toBe(true);
  });

  it('asks for the state when it connects, and reports what happens by itself, the end of a pulse included', async () => {
    const topic = nextTopic();
    const far = await startTasmotaMqtt({ port: broker.port, topic });
    far.press(1);
    const entity = relay(topic);
    const provider = connect([entity], via());
    const said = () => provider.states.map(({ status }) => status);
    await vi.waitFor(() => expect(said().at(-1)).toBe('open'), soon);
    far.press(1);
    await vi.waitFor(() => expect(said().at(-1)).toBe('closed'), soon);
    far.pulse(300);
    expect(await provider.connection.actions.open?.(commandTo(entity))).toEqual(openedBy);
    await vi.waitFor(() => expect(said().at(-1)).toBe('closed'), soon);
    expect(far.isOn(1)).toBe(false);
    expect(far.commands).toEqual(['POWER1 ON']);
  });

  it('a device that switches without a word leaves the outcome unknown and is not told twice', async () => {
    const topic = nextTopic();
    const far = await startTasmotaMqtt({ port: broker.port, topic });
    const entity = relay(topic);
    const provider = connect([entity], via());
    await isUp(provider);
    await settled(provider);
    far.fault('silent');
    const delivery = await provider.connection.actions.open?.(commandTo(entity, { withinMs: 2_000 }));
    expect(delivery).toEqual({ kind: 'unknown', reason: 'the device did not answer in time' });
    expect(far.commands).toEqual(['POWER1 ON']);
  });

  it('the answer to a question about the state is no proof of a command', async () => {
    const topic = nextTopic();
    const far = await startTasmotaMqtt({ port: broker.port, topic });
    const entity = relay(topic);
    const provider = connect([entity], via());
    await isUp(provider);
    await settled(provider);
    far.fault('silent');
    const other = await broker.client();
    const sent = provider.connection.actions.open?.(commandTo(entity, { withinMs: 2_000 }));
    await vi.waitFor(() => expect(far.isOn(1)).toBe(true), soon);
    await other.publishAsync(`cmnd/${topic}/STATE`, '');
    await vi.waitFor(() => expect(provider.states.at(-1)?.status).toBe('open'), soon);
    expect((await sent)?.kind).toBe('unknown');
  });

  it('a locked relay is unknown, a channel it does not have is refused', async () => {
    const topic = nextTopic();
    const far = await startTasmotaMqtt({ port: broker.port, topic, relays: 2 });
    const [real, absent] = [relay(topic, 1), relay(topic, 3)];
    const provider = connect([real, absent], via());
    await isUp(provider);
    expect((await provider.connection.actions.open?.(commandTo(absent)))?.kind).toBe('refused');
    far.fault('locked');
    const delivery = await provider.connection.actions.open?.(commandTo(real, { withinMs: 700 }));
    expect(delivery?.kind).toBe('unknown');
  });

  it('a device whose last will was told gets nothing, and works again when it is back', async () => {
    const topic = nextTopic();
    const far = await startTasmotaMqtt({ port: broker.port, topic });
    const entity = relay(topic);
    const provider = connect([entity], via());
    await isUp(provider);
    await far.powerOff();
    await vi.waitFor(() => expect(provider.connection.health()).toBe('reduced'), soon);
    expect(await provider.connection.actions.open?.(commandTo(entity))).toEqual({
      kind: 'not_sent',
      reason: 'the device is offline',
    });
    await far.powerOn();
    await isUp(provider);
    await delay(300);
    expect(far.commands).toEqual([]);
    expect(await provider.connection.actions.open?.(commandTo(entity))).toEqual(openedBy);
  });

  it('a lost acknowledgement is unknown unless the device answered, and nothing is repeated', async () => {
    const topic = nextTopic();
    const far = await startTasmotaMqtt({ port: broker.port, topic });
    const cut = await startTcpCut(broker.port);
    const entity = relay(topic);
    const provider = connect([entity], via(cut.port));
    await isUp(provider);
    await settled(provider);
    cut.cut('replies');
    const delivery = await provider.connection.actions.open?.(commandTo(entity, { withinMs: 600 }));
    expect(delivery?.kind).toBe('unknown');
    cut.cut('none');
    await isUp(provider);
    expect(await provider.connection.actions.close?.(commandTo(entity))).toEqual(closedBy);
    expect(far.commands).toEqual(['POWER1 ON', 'POWER1 OFF']);
    await provider.connection.close();
    await cut.close();
  });

  it('a retained command is cleared, so that the device is not haunted at its next start', async () => {
    const topic = nextTopic();
    const other = await broker.client();
    await other.publishAsync(`cmnd/${topic}/POWER1`, 'ON', { retain: true, qos: 1 });
    const provider = connect([relay(topic)], via());
    await vi.waitFor(() => expect(provider.connection.health()).toBe('reduced'), soon);
    await delay(300);
    const far = await startTasmotaMqtt({ port: broker.port, topic });
    await delay(200);
    expect(far.commands).toEqual([]);
    expect(provider.logged()).toContain(`cmnd/${topic}/POWER1`);
  });

  it('a command past its deadline, or without a topic, is not sent', async () => {
    const topic = nextTopic();
    const far = await startTasmotaMqtt({ port: broker.port, topic });
    const entity = relay(topic);
    const provider = connect([entity], via());
    await isUp(provider);
    const late = await provider.connection.actions.open?.(commandTo(entity, { withinMs: -1 }));
    const aimless = await provider.connection.actions.open?.(commandTo(entityOf()));
    expect([late?.kind, aimless?.kind]).toEqual(['not_sent', 'not_sent']);
    expect(await provider.connection.actions.close?.(commandTo(entity))).toEqual(closedBy);
    expect(far.commands).toEqual(['POWER1 OFF']);
  });
});

describe('over HTTP', () => {
  const config = (base_url: string) => ({ transport: 'http', base_url, poll_interval_seconds: 1 });

  it('switches, reads the state of every relay and says what the device says', async () => {
    const far = await startTasmotaHttp({ relays: 2 });
    const entities = ['1', '2'].map((channel_index) => entityOf({ metadata: { channel_index } }));
    const [, entity = entityOf()] = entities;
    const provider = connect(entities, config(far.http.url));
    await isUp(provider);
    expect(await provider.connection.actions.open?.(commandTo(entity))).toEqual(openedBy);
    expect([far.isOn(1), far.isOn(2)]).toEqual([false, true]);
    await vi.waitFor(
      () => expect(provider.states).toContainEqual({ entityId: entity.entityId, status: 'open' }),
      soon,
    );
    expect(await provider.connection.actions.toggle?.(commandTo(entity))).toEqual(closedBy);
    expect(far.commands).toEqual(['POWER2 ON', 'POWER2 TOGGLE']);
    await vi.waitFor(() => expect(far.http.openConnections()).toBe(0), soon);
    expect(far.http.calls.every(({ headers }) => headers.referer === undefined)).toBe(true);
    await far.http.stop();
  });

  it('an answer lost, empty or wrong leaves the outcome unknown, and nothing is repeated', async () => {
    const far = await startTasmotaHttp();
    const entity = entityOf();
    const { connection } = connect([entity], { ...config(far.http.url), poll_interval_seconds: 600 });
    const open = async () => (await connection.actions.open?.(commandTo(entity, { withinMs: 2_000 })))?.kind;
    far.http.fault({ kind: 'drop' });
    expect(await open()).toBe('unknown');
    far.http.fault({ kind: 'delay', ms: 5000 });
    expect(await open()).toBe('unknown');
    far.http.fault(null);
    far.fault('silent');
    expect(await open()).toBe('unknown');
    far.fault('locked');
    expect(await connection.actions.close?.(commandTo(entity))).toMatchObject({ kind: 'unknown' });
    far.http.fault({ kind: 'answer', status: 500, body: '' });
    expect(await open()).toBe('unknown');
    expect(far.commands).toEqual(['POWER1 ON', 'POWER1 ON', 'POWER1 ON', 'POWER1 OFF']);
    await far.http.stop();
  });

  it.each([false, true])(
    'a wrong password is refused (old firmware: %s), and a right one is never shown',
    async (oldFirmware) => {
      const far = await startTasmotaHttp({ password: 'correct horse', oldFirmware });
      const entity = entityOf();
      const wrong = connect([entity], config(far.http.url), { password: 'wrong' });
      expect((await wrong.connection.actions.open?.(commandTo(entity)))?.kind).toBe('refused');
      await vi.waitFor(() => expect(wrong.connection.health()).toBe('error'), soon);
      expect(far.commands).toEqual([]);
      const right = connect([entity], config(far.http.url), { password: 'correct horse' });
      expect(await right.connection.actions.open?.(commandTo(entity))).toEqual(openedBy);
      expect(far.http.calls.some(({ query }) => `${query}`.includes('horse'))).toBe(false);
      expect(right.logged()).not.toContain('horse');
      await far.http.stop();
    },
  );

  it('a device that is off gets nothing, and works again when it is back', async () => {
    const far = await startTasmotaHttp();
    const entity = entityOf();
    const provider = connect([entity], config(far.http.url));
    await isUp(provider);
    await far.http.stop();
    expect((await provider.connection.actions.open?.(commandTo(entity)))?.kind).toBe('not_sent');
    expect(provider.connection.health()).toBe('error');
    await far.http.start();
    await isUp(provider);
    expect(far.commands).toEqual([]);
    expect(await provider.connection.actions.open?.(commandTo(entity))).toEqual(openedBy);
    const late = await provider.connection.actions.close?.(commandTo(entity, { withinMs: -1 }));
    expect(late?.kind).toBe('not_sent');
    expect(far.commands).toEqual(['POWER1 ON']);
    await far.http.stop();
  });
});

import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type ConnectedProvider,
  commandTo,
  connectProvider,
  entityOf,
} from '../../../test/support/connected-provider.ts';
import { type Mosquitto, startMosquitto } from '../../../test/support/peers/mosquitto.ts';
import { runOp as ask, opLimits } from '../../../test/support/peers/run-op.ts';
import { startTasmotaHttp, startTasmotaMqtt } from '../../../test/support/peers/tasmota-peer.ts';
import { tasmota } from './tasmota.provider.ts';
import { pulseTimeOf, readDiscovery, readPulseTime, secondsOf } from './tasmota.wire.ts';

const soon = { timeout: 20_000, interval: 20 };
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

describe('PulseTime', () => {
  it.each([
    [0, 0],
    [0.1, 1],
    [1.5, 15],
    [11.1, 111],
    [12, 112],
    [13, 113],
    [360, 460],
    [64_800, 64_900],
  ])('of %d seconds is %i', (seconds, value) => {
    expect(pulseTimeOf(seconds)).toBe(value);
    expect(secondsOf(value)).toBe(seconds);
  });

  it('is never off nor out of range for a pulse that somebody wants', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 64_800, noNaN: true }), (seconds) => {
        const value = pulseTimeOf(seconds);
        expect(Number.isInteger(value) && value >= 1 && value <= 64_900).toBe(true);
        expect(Math.abs(secondsOf(value) - seconds)).toBeLessThanOrEqual(seconds > 11.1 ? 0.9 : 0.1);
      }),
    );
  });

  it('is read from the answer to its own channel', () => {
    const answer = { PulseTime1: { Set: 15, Remaining: 0 } };
    expect([readPulseTime(answer, 1), readPulseTime(answer, 2)]).toEqual([15, null]);
    expect(readPulseTime({ PulseTime1: 15 }, 1)).toBeNull();
  });
});

describe('a description at the broker', () => {
  it('that is none makes no device', () => {
    fc.assert(fc.property(fc.string(), (text) => void readDiscovery(text)));
    expect(['', 'null', '[]', '{}', '{"t":5}', '{"t":""}'].map(readDiscovery)).toEqual(Array(6).fill(null));
  });
});

describe('the ops of Tasmota', () => {
  let broker: Mosquitto;
  beforeAll(async () => {
    broker = await startMosquitto();
  });
  afterAll(() => broker.close());
  const relay = (topic: string) => entityOf({ deviceMetadata: { topic }, deviceId: topic });
  const via = () => ({ broker_host: '127.0.0.1', broker_port: broker.port });

  it('read the status of a device over MQTT, without its login', async () => {
    const device = await startTasmotaMqtt({ port: broker.port, topic: 'asked' });
    const provider = connect([relay('asked')], via());
    await isUp(provider);
    const answer = await ask(provider.connection, 'device.status');
    expect(answer).toMatchObject({
      kind: 'done',
      result: { StatusFWR: { Version: '14.2.0(tasmota)' }, StatusSTS: { POWER: 'OFF' } },
    });
    expect(JSON.stringify(answer)).not.toContain('canary-login');
    expect(await ask(provider.connection, 'device.status', { topic: 'another' })).toMatchObject({
      kind: 'refused',
    });
    await device.powerOff();
  });

  it('store a PulseTime in the device, which then ends the pulse', async () => {
    const device = await startTasmotaMqtt({ port: broker.port, topic: 'pulsed' });
    const provider = connect([relay('pulsed'), relay('other')], via());
    await isUp(provider);
    expect(await ask(provider.connection, 'pulse_time.provision', { topic: 'pulsed', seconds: 0.1 })).toEqual(
      {
        kind: 'done',
        result: { channel_index: 1, seconds: 0.1 },
      },
    );
    expect(device.commands).toEqual(['PulseTime1 1']);
    await provider.connection.actions.open?.(commandTo(relay('pulsed')));
    await vi.waitFor(() => expect(device.isOn(1)).toBe(false), soon);
    expect(
      await ask(provider.connection, 'pulse_time.provision', {
        topic: 'pulsed',
        channel_index: 2,
        seconds: 1,
      }),
    ).toMatchObject({ kind: 'refused' });
    device.fault('silent');
    expect(
      await ask(provider.connection, 'pulse_time.provision', { topic: 'pulsed', seconds: 5 }, 300),
    ).toMatchObject({
      kind: 'unknown',
    });
    expect(device.commands.filter((command) => command === 'PulseTime1 50')).toHaveLength(1);
    await device.powerOff();
    await vi.waitFor(() => expect(provider.connection.health()).toBe('reduced'), soon);
    expect(
      await ask(provider.connection, 'pulse_time.provision', { topic: 'pulsed', seconds: 5 }),
    ).toMatchObject({
      kind: 'not_sent',
    });
    expect(await ask(provider.connection, 'connection.test')).toMatchObject({
      result: { health: 'reduced' },
    });
  });

  it('find the devices that keep a description of themselves at the broker', async () => {
    const provider = connect([], via());
    await isUp(provider);
    const client = await broker.client();
    const describe = (mac: string, record: unknown) =>
      client.publishAsync(`tasmota/discovery/${mac}/config`, JSON.stringify(record), { retain: true });
    await describe('A0B1C2D3E4F5', {
      ip: '192.0.2.3',
      dn: 'Garage',
      md: 'Sonoff Basic',
      t: 'garage',
      ft: '%prefix%/%topic%/',
      rl: [1, 1, 0, 0],
      ver: 1,
    });
    await describe('000000000000', 'nonsense');
    await describe('A0B1C2D3E4F6', { t: 'plain' });
    const discover = async () => await provider.connection.discover?.(opLimits());
    const [first, second] = await Promise.all([discover(), discover()]);
    expect(first).toEqual(second);
    expect(first).toMatchObject({ kind: 'done' });
    const devices = first?.kind === 'done' ? first.result : [];
    expect(devices).toContainEqual({
      externalId: 'garage',
      name: 'Garage',
      model: 'Sonoff Basic',
      channelCount: 2,
    });
    expect(devices).toContainEqual({ externalId: 'plain', name: 'plain' });
    expect(devices).toHaveLength(2);
    expect(await provider.connection.discover?.(opLimits())).toEqual(first);
    await isUp(provider);
  });

  it('are not sent without the broker', async () => {
    const provider = connect([relay('alone')], { broker_host: '127.0.0.1', broker_port: 9 });
    expect(await ask(provider.connection, 'device.status')).toMatchObject({ kind: 'not_sent' });
    expect(await provider.connection.discover?.(opLimits())).toMatchObject({ kind: 'not_sent' });
    expect(await ask(provider.connection, 'connection.test')).toMatchObject({ result: { health: 'error' } });
  });

  it('work over HTTP for the one device', async () => {
    const device = await startTasmotaHttp({ password: 'right' });
    const provider = connect([], { transport: 'http', base_url: device.http.url }, { password: 'right' });
    expect(await ask(provider.connection, 'connection.test')).toMatchObject({ result: { health: 'ok' } });
    expect(await ask(provider.connection, 'device.status')).toMatchObject({
      result: { StatusSTS: { POWER: 'OFF' } },
    });
    expect(await ask(provider.connection, 'pulse_time.provision', { seconds: 15 })).toEqual({
      kind: 'done',
      result: { channel_index: 1, seconds: 15 },
    });
    expect(device.commands).toEqual(['PulseTime1 115']);
    expect(provider.connection.discover).toBeUndefined();
    const stranger = connect([], { transport: 'http', base_url: device.http.url }, { password: 'wrong' });
    expect(await ask(stranger.connection, 'pulse_time.provision', { seconds: 1 })).toMatchObject({
      kind: 'refused',
    });
    expect(await ask(stranger.connection, 'connection.test')).toMatchObject({ result: { health: 'error' } });
    await device.http.stop();
    expect(await ask(provider.connection, 'device.status')).toMatchObject({ kind: 'not_sent' });
  });
});

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import {
  type ConnectedProvider,
  commandTo,
  connectProvider,
  entityOf,
} from '../../../test/support/connected-provider.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { opLimits, runOp } from '../../../test/support/peers/run-op.ts';
import { type ShellyDevicePeer, startShellyDevice } from '../../../test/support/peers/shelly-device-peer.ts';
import { addDialInRoute } from '../../http/dial-in-route.ts';
import { createHttpServer } from '../../http/server.ts';
import { createLogger } from '../../kernel/logger.ts';
import { Secret } from '../../kernel/secret.ts';
import type { Connection, EntityBinding } from '../provider.ts';
import { pulseOwnerOf } from '../record-rules.ts';
import { createDialInHub, type DialInHub, dialInUrl } from '../transport/dial-in.ts';
import { createShellyWebsocket, shellyWebsocket } from './shelly-websocket.provider.ts';

const pepper = new Secret('a pepper of the tests');
const id = 'shellyplus1-a8032abe41fc';
const on = (component: string, deviceId = id): EntityBinding =>
  entityOf({
    entityId: component,
    metadata: { 'shelly.component': component },
    deviceMetadata: { 'shelly.device_id': deviceId },
  });
const door = on('switch:0');

let http: FastifyInstance;
let hub: DialInHub;
let bench: ConnectedProvider;
let connection: Connection;
let url: string;
let devices: ShellyDevicePeer[];

beforeEach(async () => {
  http = createHttpServer({
    logger: createLogger({ level: 'silent' }),
    https: false,
    trustProxy: false,
    bodyLimitBytes: 1000,
  });
  hub = createDialInHub({ publicUrl: 'http://127.0.0.1', pepper });
  addDialInRoute(http, { hub, pepper });
  await http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = http.server.address() as AddressInfo;
  url = dialInUrl(`http://127.0.0.1:${port}`, pepper, 'I');
  devices = [];
  connection = connect();
  connection.bind([door]);
});

afterEach(async () => {
  await Promise.all(devices.map((device) => device.unplug()));
  await connection.close();
  await http.close();
});

function connect(definition = shellyWebsocket): Connection {
  bench = connectProvider(definition, { config: {}, integrationId: 'I', dialIn: hub });
  return bench.connection;
}

async function plugIn(deviceId = id, redials = true): Promise<ShellyDevicePeer> {
  const device = await startShellyDevice({ url, id: deviceId, redials });
  devices.push(device);
  return device;
}

/** A device that is connected and identified. */
async function ready(): Promise<ShellyDevicePeer> {
  const device = await plugIn();
  await eventually(() => connection.health() === 'ok');
  return device;
}

const open = (entity = door, pulseSeconds: number | null = null, deadlineInMs = 5_000) =>
  connection.actions.open?.(commandTo(entity, { pulseSeconds: pulseSeconds, withinMs: deadlineInMs }));
const close = (entity = door) => connection.actions.close?.(commandTo(entity));
const commands = (device: ShellyDevicePeer) =>
  device.requests.filter(({ method }) => method !== 'Shelly.GetDeviceInfo');

describe('a command', () => {
  it('switches the output of the device on and off', async () => {
    const device = await ready();
    expect(await open()).toEqual({ kind: 'delivered', observed: 'open' });
    expect(device.switches).toEqual([true, false]);
    expect(await close()).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(device.switches).toEqual([false, false]);
    expect(commands(device)).toMatchObject([
      { src: 'hub', dst: id, params: { id: 0, on: true } },
      { src: 'hub', dst: id, params: { id: 0, on: false } },
    ]);
  });

  it('names the output, the first switch unless said otherwise', async () => {
    const device = await ready();
    await open(on('switch:1'));
    expect(device.switches).toEqual([false, true]);
    await open(entityOf({ deviceMetadata: { 'shelly.device_id': id.toUpperCase() } }));
    expect(device.switches).toEqual([true, true]);
  });

  it('leaves the end of a pulse to the device', async () => {
    const device = await ready();
    expect((await open(door, 0.05))?.kind).toBe('delivered');
    await eventually(() => bench.reports().at(-1) === 'switch:0 closed');
    expect(device.switches[0]).toBe(false);
    expect(commands(device)).toMatchObject([{ params: { toggle_after: 0.05 } }]);
  });

  it('moves a cover, which is open only when it says so', async () => {
    const device = await ready();
    connection.bind([on('cover:0')]);
    expect(await open(on('cover:0'))).toEqual({ kind: 'delivered', observed: null });
    device.moveCover('opening');
    device.moveCover('open', 100);
    await eventually(() => bench.reports().at(-1) === 'cover:0 open');
    expect(await close(on('cover:0'))).toEqual({ kind: 'delivered', observed: null });
    expect(commands(device).map(({ method }) => method)).toEqual(['Cover.Open', 'Cover.Close']);
  });

  it('leaves the end of a pulse to the service with a cover, which has none', async () => {
    const device = await ready();
    expect((await open(on('cover:0'), 3))?.kind).toBe('delivered');
    expect(commands(device)).toMatchObject([{ method: 'Cover.Open', params: { id: 0 } }]);
    const owner = (component: string) =>
      pulseOwnerOf(shellyWebsocket.manifest, { ...on(component), config: {} });
    expect([owner('cover:0'), owner('switch:0')]).toEqual(['server', 'device']);
  });

  it('is not sent without a socket of that device', async () => {
    expect((await open())?.kind).toBe('not_sent');
    const other = await plugIn('shellyplus1-other');
    await eventually(() => other.requests.length === 1);
    expect((await open())?.kind).toBe('not_sent');
    expect(commands(other)).toEqual([]);
  });

  it('is not sent after its deadline, nor when it is given up before', async () => {
    const device = await ready();
    expect((await open(door, null, -1))?.kind).toBe('not_sent');
    const abandoned = { ...commandTo(door), signal: AbortSignal.abort() };
    expect((await connection.actions.open?.(abandoned))?.kind).toBe('not_sent');
    expect((await close())?.kind).toBe('delivered');
    expect(commands(device)).toHaveLength(1);
  });

  it.each([
    [-105, 'refused'],
    [429, 'refused'],
    [-104, 'unknown'],
    [-114, 'unknown'],
  ])('that the device answers with error %i is %s', async (code, kind) => {
    const device = await ready();
    device.manner = { kind: 'refuse', code };
    expect((await open())?.kind).toBe(kind);
    expect(device.switches[0]).toBe(false);
  });

  it('whose output does not exist is refused by the device', async () => {
    await ready();
    expect((await open(on('switch:7')))?.kind).toBe('refused');
  });

  it('whose reply is lost is unknown and not repeated; the state comes with the next connection', async () => {
    const device = await ready();
    device.manner = { kind: 'drop_reply' };
    expect((await open(door, null, 100))?.kind).toBe('unknown');
    await eventually(() => device.connections === 2 && connection.health() === 'ok');
    await eventually(() => bench.reports().at(-1) === 'switch:0 open');
    expect(bench.reports()).toContain('switch:0 unknown');
    expect(commands(device)).toHaveLength(1);
  });

  it('is unknown when the connection ends before the answer', async () => {
    const device = await ready();
    device.manner = { kind: 'die' };
    expect((await open(door, null, 600_000))?.kind).toBe('unknown');
    await eventually(() => device.connections === 2 && connection.health() === 'ok');
    expect(commands(device)).toHaveLength(1);
  });

  it('given up while it is under way is unknown', async () => {
    const device = await ready();
    device.manner = { kind: 'delay', ms: 60_000 };
    const giveUp = new AbortController();
    const delivery = connection.actions.open?.({ ...commandTo(door), signal: giveUp.signal });
    await eventually(() => commands(device).length === 1);
    giveUp.abort();
    expect((await delivery)?.kind).toBe('unknown');
  });

  it('gets its own answer, in whatever order they come', async () => {
    const device = await ready();
    device.manner = { kind: 'delay', ms: 50 };
    const slow = open();
    await eventually(() => commands(device).length === 1);
    device.manner = { kind: 'refuse', code: -109 };
    expect((await close(on('switch:1')))?.kind).toBe('refused');
    expect(await slow).toEqual({ kind: 'delivered', observed: 'open' });
  });
});

describe('a state', () => {
  it('is known from the first status on, and follows the device', async () => {
    const device = await ready();
    await eventually(() => bench.reports().at(-1) === 'switch:0 closed');
    device.press(0);
    await eventually(() => bench.reports().at(-1) === 'switch:0 open');
    device.emit(JSON.stringify({ src: id, method: 'NotifyStatus', params: { 'switch:0': null } }));
    await eventually(() => bench.reports().at(-1) === 'switch:0 unknown');
  });

  it('is reported only for what is mapped, and at once for what is mapped later', async () => {
    const device = await ready();
    device.press(1);
    const stranger = await plugIn('shellyplus1-stranger');
    await eventually(() => stranger.requests.length === 1);
    stranger.press(0);
    device.press(0);
    await eventually(() => bench.reports().at(-1) === 'switch:0 open');
    expect(new Set(bench.reports())).toEqual(new Set(['switch:0 closed', 'switch:0 open']));
    connection.bind([door, on('switch:1')]);
    expect(bench.reports().at(-1)).toBe('switch:1 open');
  });

  it('of another device than the one on the socket is ignored', async () => {
    const device = await ready();
    const says = (src: string, output: boolean) =>
      device.emit(JSON.stringify({ src, method: 'NotifyStatus', params: { 'switch:0': { output } } }));
    await eventually(() => bench.reports().length === 1);
    says('shellyplus1-other', true);
    says(id, false);
    await eventually(() => bench.reports().length > 1);
    expect(bench.reports()).toEqual(['switch:0 closed', 'switch:0 closed']);
  });

  it('is forgotten when a full status lacks it', async () => {
    const device = await ready();
    const params = { 'switch:0': { output: true } };
    device.emit(JSON.stringify({ src: id, method: 'NotifyFullStatus', params }));
    await eventually(() => bench.reports().at(-1) === 'switch:0 open');
    connection.bind([on('switch:1')]);
    expect(bench.reports().at(-1)).toBe('switch:0 open');
  });

  it('is not told by reports about something else', async () => {
    const device = await ready();
    await eventually(() => bench.reports().length === 1);
    const power = { src: id, method: 'NotifyStatus', params: { 'switch:0': { apower: 8.1 } } };
    device.emit(JSON.stringify(power));
    device.press(0);
    await eventually(() => bench.reports().at(-1) === 'switch:0 open');
    expect(bench.reports()).toEqual(['switch:0 closed', 'switch:0 open']);
  });
});

describe('a device', () => {
  it('that restarts works again', async () => {
    const device = await ready();
    await open();
    await device.reboot();
    await eventually(() => bench.reports().at(-1) === 'switch:0 closed' && connection.health() === 'ok');
    expect((await open())?.kind).toBe('delivered');
    expect(device.switches[0]).toBe(true);
  });

  it('that is gone makes the state unknown and the health bad', async () => {
    const device = await ready();
    await device.unplug();
    await eventually(() => connection.health() === 'error');
    expect(bench.reports().at(-1)).toBe('switch:0 unknown');
    expect((await open())?.kind).toBe('not_sent');
  });

  it('has one socket: the newest', async () => {
    const old = await plugIn(id, false);
    await eventually(() => connection.health() === 'ok');
    const fresh = await plugIn();
    await eventually(() => !old.connected());
    expect((await open())?.kind).toBe('delivered');
    expect([commands(old).length, commands(fresh).length]).toEqual([0, 1]);
    expect(bench.reports()).not.toContain('switch:0 unknown');
  });

  it('that calls is told that there is nothing to call', async () => {
    const device = await ready();
    device.emit(JSON.stringify({ id: 5, src: id, method: 'Shelly.Reboot' }));
    await eventually(() => device.replies.length === 1);
    expect(device.replies).toEqual([
      { id: 5, src: 'hub', dst: id, error: { code: 404, message: 'No handler' } },
    ]);
  });

  it('that talks nonsense is heard no less afterwards', async () => {
    const device = await ready();
    for (const text of ['', '{', '[]', '{"id":99,"result":{}}', '{"id":1,"result":{"id":"other"}}'])
      device.emit(text);
    expect((await open())?.kind).toBe('delivered');
  });

  it('that has no proper id is sent away', async () => {
    const device = await plugIn('not an id', false);
    await eventually(() => !device.connected());
    expect(connection.health()).toBe('error');
  });

  it('that does not say who it is is sent away', async () => {
    await connection.close();
    connection = connect(createShellyWebsocket(50));
    const mute = new WebSocket(url);
    mute.on('error', () => undefined);
    await once(mute, 'message');
    await once(mute, 'close');
  });
});

describe('the end of a connection', () => {
  it('sends the devices away and says nothing more', async () => {
    const device = await ready();
    await eventually(() => bench.reports().length === 1);
    await connection.close();
    await eventually(() => !device.connected());
    expect((await open())?.kind).toBe('not_sent');
    expect(bench.reports()).toEqual(['switch:0 closed']);
    expect(hub.room('shelly/I')).toBe('none');
  });

  it('is followed by another to which the devices come', async () => {
    const device = await ready();
    await connection.close();
    connection = connect();
    connection.bind([door]);
    await eventually(() => connection.health() === 'ok');
    expect((await open())?.kind).toBe('delivered');
    expect(device.switches[0]).toBe(true);
  });
});

describe('its ops', () => {
  it('discover the devices that have dialled in and read one of them', async () => {
    expect(await connection.discover?.(opLimits())).toEqual({ kind: 'done', result: [] });
    await ready();
    expect(await connection.discover?.(opLimits())).toEqual({
      kind: 'done',
      result: [{ externalId: id, name: id, model: 'SNSW-001X16EU', channelCount: 3 }],
    });
    expect(await runOp(connection, 'device.status', { device_id: id.toUpperCase() })).toMatchObject({
      kind: 'done',
      result: { 'switch:0': { output: false } },
    });
    expect(await runOp(connection, 'device.status', { device_id: 'absent' })).toMatchObject({
      kind: 'not_sent',
    });
    expect(await runOp(connection, 'connection.test')).toMatchObject({ result: { health: 'ok' } });
  });

  it('tell a device that refuses, and one that does not answer', async () => {
    const device = await ready();
    device.manner = { kind: 'refuse', code: -109 };
    expect(await runOp(connection, 'device.status', { device_id: id })).toMatchObject({ kind: 'refused' });
    device.manner = { kind: 'drop_reply' };
    expect(await runOp(connection, 'device.status', { device_id: id }, 200)).toMatchObject({
      kind: 'unknown',
    });
  });

  it('show the address to dial', async () => {
    expect(await runOp(connection, 'dial_in.url')).toEqual({
      kind: 'done',
      result: { url: dialInUrl('http://127.0.0.1', pepper, 'I') },
    });
  });
});

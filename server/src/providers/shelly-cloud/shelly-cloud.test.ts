import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type ConnectedProvider,
  commandTo,
  connectProvider,
  entityOf,
} from '../../../test/support/connected-provider.ts';
import { soon } from '../../../test/support/eventually.ts';
import { runOp } from '../../../test/support/peers/run-op.ts';
import { type ShellyCloudPeer, startShellyCloudPeer } from '../../../test/support/peers/shelly-cloud-peer.ts';
import type { Verb } from '../provider.ts';
import { pulseOwnerOf } from '../record-rules.ts';
import { createShellyCloud, shellyCloud } from './shelly-cloud.provider.ts';
import { type Api, channelStatus, readStatuses, readSwitchReply, switchCall } from './shelly-cloud.wire.ts';

const key = 'canary+key/with=signs&77';
const device = 'b48a0a1cd978';
const gate = entityOf({ deviceExternalId: device });
const light = entityOf({ deviceExternalId: device, metadata: { channel_index: '1' } });
const times = { betweenCallsMs: 5, everyMs: 30, retryMs: 20, maxRetryMs: 40 };
const rarely = { ...times, everyMs: 3_600_000 };

let peer: ShellyCloudPeer;
const connected: ConnectedProvider[] = [];

beforeEach(async () => {
  peer = await startShellyCloudPeer(key, [`${device}/0`, `${device}/1`]);
});

afterEach(async () => {
  for (const { connection } of connected.splice(0)) await connection.close();
  await peer.http.stop();
});

function connect(api: Api = 'v2', timing = rarely, authKey = key): ConnectedProvider {
  const config = { server_uri: peer.http.url, ...(api === 'v1' ? { api } : {}) };
  const bench = connectProvider(createShellyCloud(timing), { config, secrets: { auth_key: authKey } });
  connected.push(bench);
  return bench;
}

const act = ({ connection }: ConnectedProvider, verb: Verb, entity = gate, more = {}) =>
  connection.actions[verb]?.(commandTo(entity, more));
const gateAtPeer = () => peer.switches.get(`${device}/0`);
const lastStatus = (bench: ConnectedProvider, entity = gate) =>
  bench.states.findLast(({ entityId }) => entityId === entity.entityId)?.status;
const sets = () => peer.http.calls.filter(({ path }) => /set\/switch|control/.test(path)).length;

describe('calls', () => {
  it('of v2 have the key in the query and JSON in the body', () => {
    expect(switchCall('v2', 'K&', { device: 'd', index: 1 }, true, 3)).toEqual({
      path: 'v2/devices/api/set/switch?auth_key=K%26',
      body: '{"id":"d","channel":1,"on":true,"toggle_after":3}',
      contentType: 'application/json',
    });
  });

  it('of v1 have everything in a form', () => {
    expect(switchCall('v1', 'K&', { device: 'd', index: 0 }, false, null)).toEqual({
      path: 'device/relay/control',
      body: 'id=d&channel=0&turn=off&auth_key=K%26',
      contentType: 'application/x-www-form-urlencoded',
    });
  });
});

describe('an answer', () => {
  it.each<[Api, number, string, string]>([
    ['v2', 200, '', 'delivered'],
    ['v2', 200, '{"isok":true}', 'delivered'],
    ['v2', 200, '{"isok":false}', 'refused'],
    ['v2', 200, '{}', 'unknown'],
    ['v2', 200, '<html>', 'unknown'],
    ['v2', 400, '{"error":"BAD_REQUEST"}', 'refused'],
    ['v2', 400, '{"error":"DEVICE_OFFLINE"}', 'not_sent'],
    ['v2', 503, '{"error":"DEVICE_OFFLINE"}', 'not_sent'],
    ['v2', 401, '', 'refused'],
    ['v2', 403, '', 'refused'],
    ['v2', 429, '', 'refused'],
    ['v2', 301, '', 'unknown'],
    ['v2', 500, '{"isok":false}', 'unknown'],
    ['v2', 504, '', 'unknown'],
    ['v1', 200, '{"isok":true,"data":{}}', 'delivered'],
    ['v1', 200, '{"isok":false,"errors":{}}', 'refused'],
    ['v1', 200, '', 'unknown'],
  ])('of %s: %i %s is %s', (api, status, body, kind) => {
    expect(readSwitchReply(api, { kind: 'response', status, body }).kind).toBe(kind);
  });

  it.each<[Api, string, string]>([
    ['v2', '[{"id":"d","gen":"G2","online":1,"status":{"switch:0":{"output":true}}}]', 'open'],
    ['v2', '[{"id":"d","gen":"G1","online":1,"status":{"relays":[{"ison":false}]}}]', 'closed'],
    ['v2', '[{"id":"d","online":0,"status":{"switch:0":{"output":true}}}]', 'unknown'],
    ['v2', '[{"id":"d","online":1,"status":{"switch:1":{"output":true}}}]', 'unknown'],
    ['v2', '[]', 'unknown'],
    ['v1', '{"isok":true,"data":{"online":true,"device_status":{"switch:0":{"output":false}}}}', 'closed'],
    ['v1', '{"isok":true,"data":{"online":false,"device_status":{"switch:0":{"output":false}}}}', 'unknown'],
  ])('of %s with a status: %s is %s', (api, body, status) => {
    const statuses = readStatuses(api, ['d'], { kind: 'response', status: 200, body });
    expect(channelStatus(statuses?.get('d'), 0)).toBe(status);
  });
});

describe.each<Api>(['v2', 'v1'])('a command over %s', (api) => {
  it('reaches the switch', async () => {
    const bench = connect(api);
    expect(await act(bench, 'open')).toEqual({ kind: 'delivered', observed: null });
    expect(gateAtPeer()).toEqual({ output: true, toggleAfter: null });
    expect(await act(bench, 'close')).toMatchObject({ kind: 'delivered' });
    expect(gateAtPeer()?.output).toBe(false);
    expect(await act(bench, 'open', light)).toMatchObject({ kind: 'delivered' });
    expect(gateAtPeer()?.output).toBe(false);
    expect(peer.switches.get(`${device}/1`)?.output).toBe(true);
  });

  it('whose answer is lost is unknown, is not sent again, and is read afterwards', async () => {
    const bench = connect(api);
    bench.connection.bind([gate]);
    await vi.waitFor(() => expect(lastStatus(bench)).toBe('closed'), soon);
    peer.http.fault({ kind: 'drop' }, /set|control/);
    expect(await act(bench, 'open')).toMatchObject({ kind: 'unknown' });
    peer.http.fault(null);
    await vi.waitFor(() => expect(lastStatus(bench)).toBe('open'), soon);
    expect(sets()).toBe(1);
  });

  it('is not sent to a cloud that is down, and works again when it is back', async () => {
    const bench = connect(api, times);
    bench.connection.bind([gate]);
    await vi.waitFor(() => expect(bench.connection.health()).toBe('ok'), soon);
    await peer.http.stop();
    expect(await act(bench, 'open')).toMatchObject({ kind: 'not_sent' });
    expect(bench.connection.health()).toBe('error');
    await peer.http.start();
    await vi.waitFor(() => expect(bench.connection.health()).toBe('ok'), soon);
    expect(sets()).toBe(0);
    expect(await act(bench, 'open')).toMatchObject({ kind: 'delivered' });
  });

  it('to an unknown channel is refused', async () => {
    const other = entityOf({ deviceExternalId: device, metadata: { channel_index: '9' } });
    expect(await act(connect(api), 'open', other)).toMatchObject({ kind: 'refused' });
  });

  it('reports what it reads', async () => {
    const bench = connect(api, times);
    bench.connection.bind([gate, light]);
    await vi.waitFor(() => expect(lastStatus(bench, light)).toBe('closed'), soon);
    const atPeer = peer.switches.get(`${device}/1`);
    if (atPeer) atPeer.output = true;
    await vi.waitFor(() => expect(lastStatus(bench, light)).toBe('open'), soon);
    expect(lastStatus(bench, gate)).toBe('closed');
    peer.offline.add(device);
    await vi.waitFor(() => expect(lastStatus(bench, light)).toBe('unknown'), soon);
  });
});

describe('a command', () => {
  it('gives the pulse to the device', async () => {
    expect(await act(connect(), 'open', gate, { pulseSeconds: 3 })).toMatchObject({ kind: 'delivered' });
    expect(gateAtPeer()).toEqual({ output: true, toggleAfter: 3 });
  });

  it('leaves the end of a pulse to the service over v1, which has no timer', async () => {
    expect(await act(connect('v1'), 'open', gate, { pulseSeconds: 3 })).toMatchObject({ kind: 'delivered' });
    expect(gateAtPeer()).toEqual({ output: true, toggleAfter: null });
    const owner = (api: Api) => pulseOwnerOf(shellyCloud.manifest, { ...gate, config: { api } });
    expect([owner('v1'), owner('v2')]).toEqual(['server', 'device']);
  });

  it('answered with isok is delivered too', async () => {
    peer.answerWith('isok');
    expect(await act(connect(), 'open')).toMatchObject({ kind: 'delivered' });
  });

  it('to a device that is not online is surely not delivered', async () => {
    peer.offline.add(device);
    expect(await act(connect(), 'open')).toEqual({ kind: 'not_sent', reason: 'the device is not online' });
    expect(gateAtPeer()?.output).toBe(false);
  });

  it('is unknown when the answer is late or the cloud breaks', async () => {
    const bench = connect();
    peer.http.fault({ kind: 'answer', status: 500, body: '' });
    expect(await act(bench, 'open')).toMatchObject({ kind: 'unknown' });
    peer.http.fault({ kind: 'delay', ms: 5000 });
    expect(await act(bench, 'open', gate, { withinMs: 2_000 })).toMatchObject({ kind: 'unknown' });
  });

  it('is not sent after its deadline nor without a device id', async () => {
    const bench = connect();
    expect(await act(bench, 'open', gate, { withinMs: -1 })).toMatchObject({ kind: 'not_sent' });
    expect(await act(bench, 'open', entityOf())).toMatchObject({ kind: 'not_sent' });
    expect(peer.http.calls).toEqual([]);
  });
});

describe('the limit of the vendor', () => {
  it('is kept by commands and readings together', async () => {
    // Measured where the calls arrive: one that was held up on its way comes closer to the next.
    peer.throttle(500);
    const bench = connect('v2', { ...times, betweenCallsMs: 1_500, everyMs: 1 });
    bench.connection.bind([gate]);
    const answers = await Promise.all([act(bench, 'open'), act(bench, 'open', light), act(bench, 'close')]);
    expect(answers.map((answer) => answer?.kind)).toEqual(['delivered', 'delivered', 'delivered']);
    expect(bench.connection.health()).toBe('ok');
  });

  it('does not make a command wait beyond its deadline', async () => {
    const bench = connect('v2', { ...rarely, betweenCallsMs: 60_000 });
    expect(await act(bench, 'open')).toMatchObject({ kind: 'delivered' });
    expect(await act(bench, 'close')).toMatchObject({ kind: 'not_sent' });
    expect(sets()).toBe(1);
  });

  it('when hit, refuses the command and reduces health; a 401 counts against the key only twice in a row', async () => {
    const bench = connect();
    peer.http.fault({ kind: 'answer', status: 429, body: '' });
    expect(await act(bench, 'open')).toMatchObject({ kind: 'refused' });
    expect(bench.connection.health()).toBe('reduced');
    peer.http.fault({ kind: 'answer', status: 401, body: '' });
    await act(bench, 'open');
    expect(bench.connection.health()).toBe('reduced');
    await act(bench, 'open');
    expect(bench.connection.health()).toBe('error');
    peer.http.fault(null);
    await act(bench, 'open');
    expect(bench.connection.health()).toBe('ok');
  });
});

describe('the connection', () => {
  it('reads ten devices with one call', async () => {
    const bench = connect();
    bench.connection.bind(Array.from({ length: 23 }, (_, n) => entityOf({ deviceExternalId: `device${n}` })));
    await vi.waitFor(() => expect(bench.states).toHaveLength(23), soon);
    expect(peer.http.calls.map(({ body }) => JSON.parse(body).ids.length)).toEqual([10, 10, 3]);
  });

  it('offers what its manifest says', () => {
    expect(Object.keys(connect().connection.actions)).toEqual(shellyCloud.manifest.actions);
  });

  it('makes no call after it was closed', async () => {
    const bench = connect('v2', { ...times, everyMs: 1 });
    bench.connection.bind([gate]);
    await vi.waitFor(() => expect(bench.states.length).toBeGreaterThan(2), soon);
    await bench.connection.close();
    await vi.waitFor(() => expect(peer.http.openConnections()).toBe(0), soon);
    const calls = peer.http.calls.length;
    bench.connection.bind([gate, light]);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(peer.http.calls.length).toBe(calls);
  });

  it.each<Api>(['v2', 'v1'])('never shows the key, not even when the cloud repeats it (%s)', async (api) => {
    const bench = connect(api, times);
    bench.connection.bind([gate]);
    const deliveries = [];
    for (const status of [200, 400, 401, 500, 301]) {
      peer.http.fault({ kind: 'answer', status, body: { error: key, isok: false, errors: { [key]: key } } });
      deliveries.push(await act(bench, 'open'));
    }
    peer.http.fault({ kind: 'drop' });
    deliveries.push(await act(bench, 'open'));
    await peer.http.stop();
    deliveries.push(await act(bench, 'open'));
    const shown = JSON.stringify(deliveries) + bench.logged() + JSON.stringify(bench.states);
    expect(deliveries.map((delivery) => delivery?.kind)).toContain('unknown');
    for (const form of [key, encodeURIComponent(key)]) expect(shown).not.toContain(form);
  });
});

describe.each<Api>(['v2', 'v1'])('ops over %s', (api) => {
  it('read a device and tell how the cloud is', async () => {
    const bench = connect(api);
    expect(await runOp(bench.connection, 'connection.test')).toMatchObject({
      result: { message: expect.stringContaining('no device') },
    });
    bench.connection.bind([gate]);
    expect(await runOp(bench.connection, 'device.status', { device_id: device })).toMatchObject({
      kind: 'done',
      result: {
        online: true,
        components: api === 'v2' ? { 'switch:0': { output: false } } : { relays: [{ ison: false }, {}] },
      },
    });
    expect(await runOp(bench.connection, 'connection.test')).toMatchObject({ result: { health: 'ok' } });
    peer.http.fault({ kind: 'answer', status: 401, body: { error: key } });
    expect(await runOp(bench.connection, 'device.status', { device_id: device })).toMatchObject({
      kind: 'refused',
    });
    await peer.http.stop();
    const answer = await runOp(bench.connection, 'device.status', { device_id: device });
    expect(answer.kind).toBe('not_sent');
    expect(JSON.stringify(answer) + bench.logged()).not.toContain(key);
    expect(sets()).toBe(0);
  });
});

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type ConnectedProvider,
  commandTo,
  connectProvider,
  entityOf,
} from '../../../test/support/connected-provider.ts';
import { soon } from '../../../test/support/eventually.ts';
import {
  type HomeassistantPeer,
  startHomeassistantPeer,
} from '../../../test/support/peers/homeassistant-peer.ts';
import { opLimits, runOp } from '../../../test/support/peers/run-op.ts';
import type { Verb } from '../provider.ts';
import { pulseOwnerOf } from '../record-rules.ts';
import { createHomeassistant, homeassistant } from './homeassistant.provider.ts';
import { failureOf, failureOfCode, type HubState, serviceFor, statusOf } from './homeassistant.wire.ts';

const token = 'canary-token-77';
const times = { pingEveryMs: 50, answerWithinMs: 10_000, retryMs: 10, maxRetryMs: 30, refusedRetryMs: 20 };
const gate = entityOf({ externalId: 'switch.gate' });
const cover = entityOf({ externalId: 'cover.garage' });
const lock = entityOf({ externalId: 'lock.front' });
const button = entityOf({ externalId: 'button.buzzer' });

let peer: HomeassistantPeer;
let bench: ConnectedProvider;

function connect(secret = token, timing = times): ConnectedProvider {
  return connectProvider(createHomeassistant(timing), {
    config: { base_url: peer.http.url },
    secrets: { token: secret },
  });
}

beforeEach(async () => {
  peer = await startHomeassistantPeer(token);
  peer.set('switch.gate', 'off');
  peer.set('cover.garage', 'closed', 15);
  peer.set('lock.front', 'locked');
  peer.set('button.buzzer', 'unknown');
  bench = connect();
});

afterEach(async () => {
  await bench.connection.close();
  await peer.http.stop();
});

const live = () => vi.waitFor(() => expect(bench.connection.health()).toBe('ok'), soon);
const act = (verb: Verb, entity = gate, withinMs = 2000) =>
  bench.connection.actions[verb]?.(commandTo(entity, { withinMs }));
const statesOf = ({ entityId }: { entityId: string }) =>
  bench.states.filter((state) => state.entityId === entityId).map(({ status }) => status);

async function withoutWebsocket(): Promise<void> {
  await live();
  peer.allowWebsocket(false);
  await vi.waitFor(() => expect(bench.connection.health()).not.toBe('ok'), soon);
}

/** What the hub pushes is known a moment later. */
function toldUnknown(): Promise<void> {
  bench.connection.bind([gate]);
  return vi.waitFor(() => expect(statesOf(gate).at(-1)).toBe('unknown'), soon);
}

describe('the table of services', () => {
  const state = (supportedFeatures = 0): HubState => ({
    entityId: 'x.y',
    state: 'on',
    supportedFeatures,
    contextId: null,
    name: null,
  });
  it.each<[string, Verb, string | null]>([
    ['switch', 'open', 'turn_on'],
    ['light', 'close', 'turn_off'],
    ['input_boolean', 'toggle', 'toggle'],
    ['siren', 'open', 'turn_on'],
    ['cover', 'open', 'open_cover'],
    ['cover', 'close', 'close_cover'],
    ['cover', 'toggle', 'toggle'],
    ['lock', 'open', 'unlock'],
    ['lock', 'close', 'lock'],
    ['lock', 'toggle', null],
    ['button', 'open', 'press'],
    ['button', 'close', null],
    ['input_button', 'toggle', null],
    ['script', 'open', 'turn_on'],
    ['sensor', 'open', null],
    ['constructor', 'open', null],
  ])('%s %s is %s', (domain, verb, service) => {
    expect(serviceFor(domain, verb, state())).toBe(service);
  });

  it('unlatches a lock that can', () => {
    expect(serviceFor('lock', 'open', state(1))).toBe('open');
    expect(serviceFor('lock', 'close', state(1))).toBe('lock');
  });

  it('calls closed only what has arrived there', () => {
    fc.assert(
      fc.property(fc.string(), (text) => statusOf(text) !== 'closed' || /^(off|closed|locked)$/.test(text)),
    );
    for (const moving of ['opening', 'closing', 'locking', 'unlocking'])
      expect(statusOf(moving)).toBe('open');
    for (const odd of ['jammed', 'unavailable', 'unknown', 'toString']) expect(statusOf(odd)).toBe('unknown');
  });

  it('takes only answers as refused with which nothing was carried out', () => {
    const kind = (status: number) => failureOf({ kind: 'response', status, body: '' })?.kind;
    expect([400, 401, 403, 404].map(kind)).toEqual(Array(4).fill('refused'));
    expect([201, 301, 408, 500, 502, 503].map(kind)).toEqual(Array(6).fill('unknown'));
    expect(['not_found', 'service_validation_error'].map((code) => failureOfCode(code).kind)).toEqual([
      'refused',
      'refused',
    ]);
    for (const code of ['home_assistant_error', 'unknown_error', 'timeout', 'anything'])
      expect(failureOfCode(code).kind).toBe('unknown');
  });
});

describe.each(['ws', 'http'])('a command over %s', (via) => {
  beforeEach(() => (via === 'ws' ? live() : withoutWebsocket()));

  it('reaches the device and says what was observed', async () => {
    expect(await act('open')).toEqual({ kind: 'delivered', observed: 'open' });
    expect(peer.stateOf('switch.gate')).toBe('on');
    expect(await act('close')).toEqual({ kind: 'delivered', observed: 'closed' });
    expect(await act('toggle')).toEqual({ kind: 'delivered', observed: 'open' });
    expect(peer.calls).toEqual(
      ['turn_on', 'turn_off', 'toggle'].map((name) => `${via} switch.${name} switch.gate`),
    );
  });

  it('to a cover is confirmed when it moves, and the end is not claimed', async () => {
    expect(await act('open', cover)).toEqual({ kind: 'delivered', observed: null });
    expect(peer.calls).toEqual([`${via} cover.open_cover cover.garage`]);
  });

  it('to a lock and to a button uses their own services', async () => {
    expect(await act('open', lock)).toEqual({ kind: 'delivered', observed: 'open' });
    expect(await act('open', button)).toEqual({ kind: 'delivered', observed: null });
    expect(peer.calls).toEqual([`${via} lock.unlock lock.front`, `${via} button.press button.buzzer`]);
  });

  it('to a device that stands so already is delivered', async () => {
    expect(await act('close')).toEqual({ kind: 'delivered', observed: 'closed' });
  });

  it('waits for a slow device', async () => {
    peer.mode({ kind: 'slow', ms: 200 });
    expect(await act('open')).toEqual({ kind: 'delivered', observed: 'open' });
  });

  it('that the device does not confirm is unknown, and is not sent again', async () => {
    peer.mode({ kind: 'deaf' });
    expect(await act('open', gate, 2_000)).toMatchObject({ kind: 'unknown' });
    expect(peer.calls).toHaveLength(1);
  });

  it('is refused for what the hub does not know, cannot reach or cannot do', async () => {
    peer.set('switch.gate', 'unavailable');
    if (via === 'ws') await toldUnknown();
    expect(await act('open')).toMatchObject({ kind: 'refused' });
    peer.set('switch.gate', 'unknown');
    expect(await act('open')).toMatchObject({ kind: 'refused' });
    expect(await act('open', entityOf({ externalId: 'switch.nowhere' }))).toMatchObject({ kind: 'refused' });
    expect(await act('toggle', lock)).toMatchObject({ kind: 'refused' });
    expect(peer.calls).toEqual([]);
  });

  it('that fails inside the hub is unknown', async () => {
    peer.mode({ kind: 'fail', code: 'home_assistant_error' });
    expect(await act('open')).toMatchObject({ kind: 'unknown' });
  });

  it('is not sent after its deadline nor without an id of the hub', async () => {
    expect(await act('open', gate, -1)).toMatchObject({ kind: 'not_sent' });
    expect(await act('open', entityOf())).toMatchObject({ kind: 'not_sent' });
    expect(await act('open', entityOf({ externalId: 'switch.a/../../config' }))).toMatchObject({
      kind: 'not_sent',
    });
    expect(peer.calls).toEqual([]);
  });

  it('is not sent to a hub that is down, and works again when it is back', async () => {
    await peer.http.stop();
    await vi.waitFor(() => expect(peer.websockets()).toBe(0), soon);
    expect(await act('open')).toMatchObject({ kind: 'not_sent' });
    expect(bench.connection.health()).toBe('error');
    peer.allowWebsocket(true);
    await peer.http.start();
    await live();
    expect(peer.calls).toEqual([]);
    expect(await act('open')).toMatchObject({ kind: 'delivered' });
  });
});

describe('a command', () => {
  it('whose answer is lost with the websocket is unknown and goes no second way', async () => {
    await live();
    peer.mode({ kind: 'drop' });
    expect(await act('open')).toMatchObject({ kind: 'unknown' });
    peer.mode(null);
    await live();
    expect(peer.calls).toEqual(['ws switch.turn_on switch.gate']);
  });

  it('whose answer never comes is unknown', async () => {
    await live();
    peer.mode({ kind: 'mute' });
    expect(await act('open', gate, 150)).toMatchObject({ kind: 'unknown' });
    expect(peer.calls).toHaveLength(1);
  });

  it('whose HTTP answer is lost is unknown and is not sent again', async () => {
    await withoutWebsocket();
    peer.http.fault({ kind: 'drop' }, /services/);
    expect(await act('open')).toMatchObject({ kind: 'unknown' });
    expect(peer.calls).toEqual(['http switch.turn_on switch.gate']);
  });

  it('is refused when the hub finds it invalid', async () => {
    await live();
    peer.mode({ kind: 'fail', code: 'service_validation_error' });
    expect(await act('open')).toMatchObject({ kind: 'refused' });
  });

  it('to a lock that jams is unknown', async () => {
    await live();
    peer.mode({ kind: 'jam' });
    expect(await act('open', lock)).toEqual({ kind: 'unknown', reason: 'the lock is jammed' });
  });
});

describe('states', () => {
  it('are reported when they are known, when they change and when the entity is gone', async () => {
    bench.connection.bind([gate, cover, button]);
    await vi.waitFor(() => expect(statesOf(cover)).toEqual(['closed']), soon);
    peer.set('cover.garage', 'opening');
    peer.set('cover.garage', 'open');
    peer.set('switch.gate', 'on');
    peer.set('cover.garage', null);
    await vi.waitFor(() => expect(statesOf(cover)).toEqual(['closed', 'open', 'open', 'unknown']), soon);
    expect(statesOf(gate)).toEqual(['closed', 'open']);
    expect(statesOf(button)).toEqual([]);
  });

  it('are read again after the hub was away', async () => {
    bench.connection.bind([gate, cover]);
    await vi.waitFor(() => expect(statesOf(gate)).toEqual(['closed']), soon);
    await peer.http.stop();
    peer.set('switch.gate', 'on');
    peer.set('cover.garage', null);
    await peer.http.start();
    await vi.waitFor(() => expect(statesOf(gate).at(-1)).toBe('open'), soon);
    expect(statesOf(cover).at(-1)).toBe('unknown');
  });

  it('are reported for an entity that is bound later', async () => {
    await live();
    bench.connection.bind([gate]);
    expect(statesOf(gate)).toEqual(['closed']);
  });
});

describe('the connection', () => {
  it('leaves a hub that no longer answers pings, and comes back', async () => {
    await bench.connection.close();
    bench = connect(token, { ...times, answerWithinMs: 300 });
    await live();
    peer.freeze(true);
    await vi.waitFor(() => expect(bench.connection.health()).not.toBe('ok'), soon);
    peer.freeze(false);
    await live();
  });

  it('is reduced without the websocket as long as HTTP works', async () => {
    await withoutWebsocket();
    await vi.waitFor(() => expect(bench.connection.health()).toBe('reduced'), soon);
    expect(peer.calls).toEqual([]);
    peer.http.fault({ kind: 'answer', status: 500, body: '' });
    await vi.waitFor(() => expect(bench.connection.health()).toBe('error'), soon);
  });

  it('has an error when the hub does not accept the token', async () => {
    const wrong = connect('other-token');
    await vi.waitFor(() => expect(wrong.connection.health()).toBe('error'), soon);
    expect(await wrong.connection.actions.open?.(commandTo(gate))).toMatchObject({ kind: 'refused' });
    expect(peer.calls).toEqual([]);
    await wrong.connection.close();
  });

  it('offers what its manifest says', () => {
    expect(Object.keys(bench.connection.actions)).toEqual(homeassistant.manifest.actions);
  });

  it('leaves nothing behind when it is closed, live or not', async () => {
    await live();
    await bench.connection.close();
    await vi.waitFor(() => expect(peer.http.openConnections()).toBe(0), soon);
    const early = connect();
    await early.connection.close();
    await peer.http.stop();
    const away = connect();
    await vi.waitFor(() => expect(away.connection.health()).toBe('error'), soon);
    await away.connection.close();
    await peer.http.start();
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(peer.websockets()).toBe(0);
  });

  it('never shows the token, not even when the hub repeats it', async () => {
    await live();
    const deliveries = [];
    for (const code of ['not_found', 'unknown_error']) {
      peer.mode({ kind: 'fail', code });
      deliveries.push(await act('open'));
    }
    await withoutWebsocket();
    for (const status of [200, 400, 401, 500]) {
      peer.http.fault({ kind: 'answer', status, body: token });
      deliveries.push(await act('open'));
    }
    await peer.http.stop();
    deliveries.push(await act('open'));
    expect(JSON.stringify(deliveries) + bench.logged()).not.toContain(token);
  });
});

describe('its ops', () => {
  it.each([['live'], ['without a websocket']])('list what the hub has, %s', async (way) => {
    peer.set('sensor.outside', '12');
    if (way === 'live') await live();
    else await withoutWebsocket();
    await vi.waitFor(
      async () =>
        expect(await runOp(bench.connection, 'entities.list', { domain: 'sensor' })).toMatchObject({
          result: [{ entity_id: 'sensor.outside', name: 'Name of sensor.outside', state: '12' }],
        }),
      soon,
    );
    const found = await bench.connection.discover?.(opLimits());
    expect(found?.kind === 'done' && found.result.map(({ externalId }) => externalId)).toEqual([
      'switch.gate',
      'cover.garage',
      'lock.front',
      'button.buzzer',
    ]);
    expect(await runOp(bench.connection, 'connection.test')).toMatchObject({
      result: { health: way === 'live' ? 'ok' : 'reduced' },
    });
    expect(peer.calls).toEqual([]);
  });

  it('tell a token that is not accepted, and a hub that is away', async () => {
    const stranger = connect('wrong');
    expect(await runOp(stranger.connection, 'entities.list')).toMatchObject({ kind: 'refused' });
    expect(await runOp(stranger.connection, 'connection.test')).toMatchObject({
      result: { health: 'error' },
    });
    await stranger.connection.close();
    await live();
    await peer.http.stop();
    await vi.waitFor(
      async () => expect(await runOp(bench.connection, 'entities.list')).toMatchObject({ kind: 'not_sent' }),
      soon,
    );
    expect(bench.logged()).not.toContain(token);
  });

  it('leave what ends by itself to the hub, and everything else to the service', () => {
    const owner = (externalId: string) =>
      pulseOwnerOf(homeassistant.manifest, { ...gate, externalId, config: {} });
    expect([owner('button.buzzer'), owner('script.open'), owner('switch.gate')]).toEqual([
      'device',
      'device',
      'server',
    ]);
  });
});

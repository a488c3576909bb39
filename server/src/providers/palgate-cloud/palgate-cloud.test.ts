import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type ConnectedProvider,
  commandTo,
  connectProvider,
  entityOf,
} from '../../../test/support/connected-provider.ts';
import { soon } from '../../../test/support/eventually.ts';
import { type PalgatePeer, startPalgatePeer } from '../../../test/support/peers/palgate-peer.ts';
import { opLimits, runOp } from '../../../test/support/peers/run-op.ts';
import { createPalgateCloud, palgateCloud } from './palgate-cloud.provider.ts';
import { deriveToken, parseGate, readOpenReply, type TokenType } from './palgate-cloud.wire.ts';

const session = 'deadbeefcafebabe0102030405060708';
const phone = '972501234567';
const quick = createPalgateCloud({ everyMs: 3_600_000, retryMs: 20, maxRetryMs: 40 });

const gate = entityOf({ deviceExternalId: '4G600123456' });
const secondOutput = entityOf({ deviceExternalId: '4G600123456:2' });

let peer: PalgatePeer;
let bench: ConnectedProvider;

beforeEach(async () => {
  peer = await startPalgatePeer({ phone, sessionTokenHex: session, tokenType: 2, gates: ['4G600123456'] });
  bench = connectProvider(quick, {
    config: { phone, token_type: 'secondary', base_url: peer.url },
    secrets: { session_token_hex: session },
  });
});

afterEach(async () => {
  await bench.connection.close();
  await peer.http.stop();
});

const open = (entity = gate, withinMs = 3000) =>
  bench.connection.actions.open?.(commandTo(entity, { withinMs }));
const opens = () => peer.http.calls.filter(({ path }) => path.endsWith('/open-gate')).length;

describe('the derived token', () => {
  const counting = '000102030405060708090a0b0c0d0e0f';
  it.each<[string, string, TokenType, number, string]>([
    [counting, '972500000000', 'sms', 1700000000, '0100E26D845D009D5046C334E5D64A4B21D74F0DE80208'],
    [counting, '972500000000', 'primary', 1700000000, '1100E26D845D009D5046C334E5D64A4B21D74F0DE80208'],
    [counting, '972500000000', 'secondary', 1700000000, '2100E26D845D009D5046C334E5D64A4B21D74F0DE80208'],
    [
      'ab'.repeat(16),
      '972500000000',
      'primary',
      1700000000,
      '1100E26D845D00DAE6CBE79CC0A79CBA099DB4FDAF3ABB',
    ],
    [
      '12'.repeat(16),
      '15550001234',
      'secondary',
      1700000001,
      '2100039EDA3052EEAAA4828E04CFD4D30D47D4E30B4DDB',
    ],
    [session, phone, 'sms', 1700000002, '0100E26D973387465DD3E743675B1D48C48F1CC98D870E'],
  ])('is as published for %s, %s, %s, %i', (sessionTokenHex, number, type, unixSeconds, token) => {
    expect(deriveToken({ sessionTokenHex, phone: number, type, unixSeconds })).toBe(token);
  });
});

describe('a gate id', () => {
  it('names an output', () => {
    expect(parseGate('4G6')).toEqual({ gateId: '4G6', output: 1 });
    expect(parseGate('4G6:2')).toEqual({ gateId: '4G6', output: 2 });
    for (const bad of [null, '', '4G6:1', '4G6:3', ':2', 'a/b', 'a?b=c', 'a b'])
      expect(parseGate(bad)).toBeNull();
  });
});

describe('an answer to open', () => {
  it.each<[number, unknown, string]>([
    [200, { err: null, status: 'ok' }, 'delivered'],
    [200, { err: false, status: 'ok', msg: 'Gate opened: true' }, 'delivered'],
    [200, { err: 'x', status: 'ok' }, 'refused'],
    [200, { err: null, status: 'failed' }, 'refused'],
    [200, { error: 'resource not found, check api path' }, 'refused'],
    [200, {}, 'unknown'],
    [200, [], 'unknown'],
    [201, { err: null, status: 'ok' }, 'unknown'],
    [302, '', 'unknown'],
    [408, '', 'unknown'],
    [500, { err: null, status: 'ok' }, 'unknown'],
    [502, '', 'unknown'],
    ...[400, 401, 403, 404, 429].map((status): [number, unknown, string] => [status, '', 'refused']),
  ])('%i %j is %s', (status, body, kind) => {
    expect(readOpenReply({ kind: 'response', status, body: JSON.stringify(body) }).kind).toBe(kind);
  });

  it('is delivered only with 200 and a body that says ok, whatever else it is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(fc.json(), fc.string()), (status, body) => {
        const { kind } = readOpenReply({ kind: 'response', status, body });
        return kind !== 'delivered' || (status === 200 && JSON.parse(body).status === 'ok');
      }),
    );
  });
});

describe('an open', () => {
  it('is one pulse at the gate', async () => {
    expect(await open()).toEqual({ kind: 'delivered', observed: null });
    expect(peer.pulses).toEqual(['4G600123456/1']);
    expect(await open(secondOutput)).toMatchObject({ kind: 'delivered' });
    expect(peer.pulses).toEqual(['4G600123456/1', '4G600123456/2']);
  });

  it('whose answer is lost is unknown and is not sent again', async () => {
    peer.http.fault({ kind: 'drop' }, /open-gate/);
    expect(await open()).toMatchObject({ kind: 'unknown' });
    peer.http.fault(null);
    expect(peer.pulses).toEqual(['4G600123456/1']);
    expect(await open(secondOutput)).toMatchObject({ kind: 'delivered' });
    expect(peer.pulses).toEqual(['4G600123456/1', '4G600123456/2']);
  });

  it('whose answer is late is unknown', async () => {
    peer.http.fault({ kind: 'delay', ms: 5000 }, /open-gate/);
    expect(await open(gate, 2_000)).toEqual({ kind: 'unknown', reason: 'no answer in time' });
    expect(peer.pulses).toHaveLength(1);
  });

  it('is unknown when the cloud breaks', async () => {
    peer.http.fault({ kind: 'answer', status: 502, body: 'bad gateway' });
    expect(await open()).toMatchObject({ kind: 'unknown' });
  });

  it('is refused when the cloud says no or wants fewer calls', async () => {
    expect(await open(entityOf({ deviceExternalId: 'other' }))).toMatchObject({ kind: 'refused' });
    peer.http.fault({ kind: 'answer', status: 429, body: 'Too Many Requests' });
    expect(await open()).toMatchObject({ kind: 'refused' });
    expect(peer.pulses).toEqual([]);
  });

  it('is not sent to a cloud that is down, and works again when it is back', async () => {
    await peer.http.stop();
    expect(await open()).toMatchObject({ kind: 'not_sent' });
    await vi.waitFor(() => expect(bench.connection.health()).toBe('error'), soon);
    await peer.http.start();
    await vi.waitFor(() => expect(bench.connection.health()).toBe('ok'), soon);
    expect(peer.pulses).toEqual([]);
    expect(await open()).toMatchObject({ kind: 'delivered' });
  });

  it('is not sent after its deadline nor without a gate id', async () => {
    expect(await open(gate, -1)).toMatchObject({ kind: 'not_sent' });
    expect(await open(entityOf())).toMatchObject({ kind: 'not_sent' });
    expect(opens()).toBe(0);
  });
});

describe('the connection', () => {
  it('is healthy when the cloud accepts the token', async () => {
    await vi.waitFor(() => expect(bench.connection.health()).toBe('ok'), soon);
  });

  it('has an error when the cloud does not accept the token', async () => {
    const wrong = connectProvider(quick, {
      config: { phone, token_type: 'sms', base_url: peer.url },
      secrets: { session_token_hex: session },
    });
    await vi.waitFor(() => expect(wrong.connection.health()).toBe('error'), soon);
    expect(await wrong.connection.actions.open?.(commandTo(gate))).toMatchObject({ kind: 'refused' });
    expect(peer.pulses).toEqual([]);
    await wrong.connection.close();
  });

  it('offers open only', () => {
    expect(Object.keys(bench.connection.actions)).toEqual(palgateCloud.manifest.actions);
  });

  it('leaves no connection behind when it is closed', async () => {
    await open();
    await bench.connection.close();
    await vi.waitFor(() => expect(peer.http.openConnections()).toBe(0), soon);
  });

  it('does not show the session token, not even when the cloud repeats it', async () => {
    const answers = [
      { kind: 'answer', status: 400, body: { msg: session } },
      { kind: 'answer', status: 200, body: { err: session, status: 'failed' } },
      { kind: 'answer', status: 500, body: session },
      { kind: 'drop' },
    ] as const;
    const deliveries = [];
    for (const fault of answers) {
      peer.http.fault(fault);
      deliveries.push(await open());
    }
    const shown = JSON.stringify(deliveries) + bench.logged();
    expect(shown.toLowerCase()).not.toContain(session);
    expect(shown).not.toContain(String(peer.http.calls.at(-1)?.headers['x-bt-token']));
  });
});

describe('its ops', () => {
  it('list the gates of the account and discover each output', async () => {
    expect(await runOp(bench.connection, 'devices.list')).toEqual({
      kind: 'done',
      result: [{ id: '4G600123456', name: 'Yard', outputs: [1, 2], admin: true, local_only: false }],
    });
    expect(await bench.connection.discover?.(opLimits())).toEqual({
      kind: 'done',
      result: [
        { externalId: '4G600123456', name: 'Yard', channelCount: 1 },
        { externalId: '4G600123456:2', name: 'Yard (2)', channelCount: 1 },
      ],
    });
    expect(await runOp(bench.connection, 'connection.test')).toMatchObject({ result: { health: 'ok' } });
    expect(peer.pulses).toEqual([]);
  });

  it('tell an account that is not let in, and a cloud that is away', async () => {
    peer.http.fault({ kind: 'answer', status: 401, body: { errId: 7101 } });
    expect(await runOp(bench.connection, 'devices.list')).toMatchObject({ kind: 'refused' });
    expect(await runOp(bench.connection, 'connection.test')).toMatchObject({ result: { health: 'error' } });
    peer.http.fault({ kind: 'answer', status: 200, body: { err: 'no', status: 'failed' } });
    expect(await runOp(bench.connection, 'devices.list')).toMatchObject({ kind: 'unknown' });
    await peer.http.stop();
    expect(await runOp(bench.connection, 'devices.list')).toMatchObject({ kind: 'not_sent' });
    expect(bench.logged()).not.toContain(session);
  });
});

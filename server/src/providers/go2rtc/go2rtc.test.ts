import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type ConnectedProvider,
  connectProvider,
  entityOf,
} from '../../../test/support/connected-provider.ts';
import { soon } from '../../../test/support/eventually.ts';
import { type Go2rtcPeer, startGo2rtcPeer } from '../../../test/support/peers/go2rtc-peer.ts';
import { opLimits, runOp } from '../../../test/support/peers/run-op.ts';
import type { Health } from '../provider.ts';
import { createGo2rtc, go2rtc } from './go2rtc.provider.ts';
import { healthFrom } from './go2rtc.wire.ts';

const quick = createGo2rtc({ everyMs: 20, retryMs: 10, maxRetryMs: 20 });

let peer: Go2rtcPeer;
let bench: ConnectedProvider;

beforeEach(async () => {
  peer = await startGo2rtcPeer();
  bench = connectProvider(quick, {
    config: { base_url: `${peer.http.url}/` },
    secrets: { nvr_username: 'canary-user-7', nvr_password: 'canary-password-7' },
  });
});

afterEach(async () => {
  await bench.connection.close();
  await peer.http.stop();
});

const becomes = (health: Health) => vi.waitFor(() => expect(bench.connection.health()).toBe(health), soon);

describe('the relay', () => {
  it('is well when it lists its streams, with or without any', async () => {
    await becomes('ok');
    peer.streams.add('front');
    await becomes('ok');
    expect(peer.http.calls[0]).toMatchObject({ method: 'GET', path: '/api/streams' });
  });

  it('has an error while it is away and is well again when it is back', async () => {
    await becomes('ok');
    await peer.http.stop();
    await becomes('error');
    await peer.http.start();
    await becomes('ok');
  });

  it('has an error when it breaks or its answers are lost', async () => {
    peer.http.fault({ kind: 'answer', status: 500, body: 'internal' });
    await becomes('error');
    peer.http.fault(null);
    await becomes('ok');
    peer.http.fault({ kind: 'drop' });
    await becomes('error');
  });

  it('is reduced when it asks for a login', async () => {
    peer.http.fault({ kind: 'answer', status: 401, body: 'Unauthorized' });
    await becomes('reduced');
  });

  it.each<[number, string, Health]>([
    [200, '{}', 'ok'],
    [200, '[]', 'error'],
    [200, '', 'error'],
    [200, '<html>', 'error'],
    [302, '', 'reduced'],
    [404, '404 page not found', 'reduced'],
    [502, '', 'error'],
  ])('answering %i %s is %s', (status, body, health) => {
    expect(healthFrom({ kind: 'response', status, body })).toBe(health);
  });
});

describe('the connection', () => {
  it('offers no action, so that every action is the 501', () => {
    expect(bench.connection.actions).toEqual({});
    expect(go2rtc.manifest.actions).toEqual([]);
  });

  it('sends nothing but the question for the streams, and never the login of the recorder', async () => {
    bench.connection.bind([entityOf({ metadata: { profile: 'sub' }, deviceMetadata: { channel: 12 } })]);
    await becomes('ok');
    const sent = peer.http.calls.map(({ path, query, headers, body }) => [path, [...query], headers, body]);
    expect(JSON.stringify(sent) + bench.logged()).not.toContain('canary');
    expect(bench.states).toEqual([]);
  });

  it('asks no more after it was closed, not even when the answer is under way', async () => {
    peer.http.fault({ kind: 'delay', ms: 60_000 });
    await vi.waitFor(() => expect(peer.http.openConnections()).toBe(1), soon);
    await bench.connection.close();
    await vi.waitFor(() => expect(peer.http.openConnections()).toBe(0), soon);
    const calls = peer.http.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(peer.http.calls.length).toBe(calls);
  });
});

describe('its ops', () => {
  it('list streams and discover them, and never show where a stream comes from', async () => {
    peer.streams.add('front').add('back');
    const streams = await runOp(bench.connection, 'streams.list');
    expect(streams).toEqual({
      kind: 'done',
      result: [
        { name: 'front', sources: 1, viewers: 0 },
        { name: 'back', sources: 1, viewers: 0 },
      ],
    });
    expect(await bench.connection.discover?.(opLimits())).toMatchObject({
      result: [{ externalId: 'front', name: 'front' }, { externalId: 'back' }],
    });
    expect(await runOp(bench.connection, 'connection.test')).toMatchObject({ result: { health: 'ok' } });
  });

  it.each([
    [401, 'Unauthorized', 'refused', 'reduced'],
    [500, 'fault', 'unknown', 'error'],
    [200, 'no JSON', 'unknown', 'error'],
  ])('tell an answer of %i %s for what it is', async (status, body, kind, health) => {
    peer.http.fault({ kind: 'answer', status, body });
    expect(await runOp(bench.connection, 'streams.list')).toMatchObject({ kind });
    expect(await runOp(bench.connection, 'connection.test')).toMatchObject({ result: { health } });
  });

  it('are not sent to a relay that is away', async () => {
    await peer.http.stop();
    expect(await runOp(bench.connection, 'streams.list')).toMatchObject({ kind: 'not_sent' });
    expect(await bench.connection.discover?.(opLimits())).toMatchObject({ kind: 'not_sent' });
  });
});

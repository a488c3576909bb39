import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
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
import { startTcpCut, type TcpCut } from '../../../test/support/peers/tcp-cut.ts';
import { createHomeassistant } from './homeassistant.provider.ts';

const token = 'canary-token-78';
const gate = entityOf({ externalId: 'switch.gate' });
const CALM = { pingEveryMs: 60_000, answerWithinMs: 10_000, retryMs: 10, maxRetryMs: 30, refusedRetryMs: 20 };

let peer: HomeassistantPeer;
let cut: TcpCut;
let bench: ConnectedProvider;

beforeEach(async () => {
  peer = await startHomeassistantPeer(token);
  peer.set('switch.gate', 'off');
  cut = await startTcpCut(Number(new URL(peer.http.url).port));
});

afterEach(async () => {
  cut.cut('none');
  await bench.connection.close();
  await cut.close();
  await peer.http.stop();
});

async function connect(times = CALM): Promise<void> {
  bench = connectProvider(createHomeassistant(times), {
    config: { base_url: `http://127.0.0.1:${cut.port}` },
    secrets: { token },
  });
  await live();
}

const live = () => vi.waitFor(() => expect(bench.connection.health()).toBe('ok'), soon);
const open = (withinMs: number) => bench.connection.actions.open?.(commandTo(gate, { withinMs }));

/** Holds everything up, and returns how to let it flow again: once the wire has seen the end of the connection. */
function stall(): () => Promise<void> {
  const ended = cut.ended();
  cut.cut('hold');
  return async () => {
    await vi.waitFor(() => expect(cut.ended()).toBeGreaterThan(ended), soon);
    cut.cut('none');
  };
}

it('what a stalled network held up is not heard when it flows again after the deadline', async () => {
  await connect();
  const flowAgain = stall();
  expect(await open(300)).toMatchObject({ kind: 'unknown' });
  await flowAgain();
  await live();
  expect(await bench.connection.actions.close?.(commandTo(gate))).toMatchObject({ kind: 'delivered' });
  expect(peer.calls).toEqual(['ws switch.turn_off switch.gate']);
});

it('a connection given up as silent before the deadline takes back what was held up', async () => {
  await connect({ ...CALM, pingEveryMs: 50, answerWithinMs: 2_000 });
  const flowAgain = stall();
  expect(await open(10_000)).toEqual({ kind: 'unknown', reason: 'the connection to the hub broke' });
  await flowAgain();
  await live();
  expect(await bench.connection.actions.close?.(commandTo(gate))).toMatchObject({ kind: 'delivered' });
  expect(peer.calls).toEqual(['ws switch.turn_off switch.gate']);
});

it('a connection that is closed takes back what was held up', async () => {
  await connect();
  const flowAgain = stall();
  const opening = open(10_000);
  await delay(50);
  await bench.connection.close();
  expect(await opening).toMatchObject({ kind: 'unknown' });
  await flowAgain();
  await vi.waitFor(() => expect(cut.connections()).toBe(0), soon);
  expect(peer.calls).toEqual([]);
});

it('a hub that has the command and is slow to carry it out keeps its connection', async () => {
  await connect();
  peer.mode({ kind: 'mute' });
  expect(await open(500)).toMatchObject({ kind: 'unknown' });
  peer.mode(null);
  expect(await bench.connection.actions.close?.(commandTo(gate))).toMatchObject({ kind: 'delivered' });
  expect(peer.calls).toEqual(['ws switch.turn_on switch.gate', 'ws switch.turn_off switch.gate']);
});

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { FarSide } from '../../../test/providers/bench.ts';
import { describeProviders } from '../../../test/providers/provider-suite.ts';
import { soon } from '../../../test/support/eventually.ts';
import { freePort } from '../../../test/support/peers/free-port.ts';
import { startTcpCut } from '../../../test/support/peers/tcp-cut.ts';
import { systemClock } from '../../kernel/clock.ts';
import { createLogger } from '../../kernel/logger.ts';
import type { Command } from '../provider.ts';
import { blueprintManifest } from './blueprint.manifest.ts';
import { blueprint } from './blueprint.provider.ts';
import { decodeReply, encodeCommand } from './blueprint.wire.ts';

describe('the wire', () => {
  it('writes and reads lines', () => {
    expect(encodeCommand('open', '2')).toBe('SET 2 ON\n');
    expect(decodeReply('OK 2 ON\n')).toEqual({ ok: true, status: 'open' });
    expect(decodeReply('ERR locked\n')).toEqual({ ok: false, reason: 'locked' });
    expect(decodeReply('HELLO\n')).toBeNull();
  });
});

/** A relay on a port of its own, which notes what it is told. */
async function startRelay() {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const answer = (line: string, socket: Socket): void => void socket.write(line.replace('SET', 'OK'));
  const relay = { received, react: answer, answer, port: await freePort(), start, stop };
  let server: Server;

  async function start(): Promise<void> {
    server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      socket.on('data', (chunk) => {
        received.push(String(chunk));
        relay.react(String(chunk), socket);
      });
    }).listen(relay.port, '127.0.0.1');
    await once(server, 'listening');
  }
  async function stop(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await new Promise((resolve) => server.close(resolve));
  }
  await start();
  return relay;
}

const refuse = (_line: string, socket: Socket): void => void socket.write('ERR locked\n');
const hangUp = (_line: string, socket: Socket): void => void socket.destroy();

/** How the relay is tried through the HTTP API, beside all others: opened, refused, lost, down and back. */
async function startFarSide(): Promise<FarSide> {
  const relay = await startRelay();
  const reactAs = (react: typeof refuse, isOn: boolean): void => {
    relay.react = isOn ? react : relay.answer;
  };
  return {
    records: {
      integration: { config: { host: '127.0.0.1', port: relay.port } },
      device: {},
      entity: { entity_type: 'door', metadata: { channel_index: '3' } },
    },
    cannot: 'ring',
    opens: () => relay.received.map((line) => line.trim()).filter((line) => line.endsWith(' ON')),
    faults: {
      loseReply: (lost) => reactAs(hangUp, lost),
      refuse: (refusing) => reactAs(refuse, refusing),
    },
    stop: relay.stop,
    restart: relay.start,
    close: relay.stop,
  };
}

describeProviders(
  [{ provider: blueprintManifest.type, transport: 'TCP', peer: 'twin', start: startFarSide }],
  [blueprint],
);

describe('the provider', () => {
  let relay: Awaited<ReturnType<typeof startRelay>>;

  beforeEach(async () => {
    relay = await startRelay();
  });
  afterEach(() => relay.stop());

  function open(port: number, deadlineInMs = 5_000, signal = new AbortController().signal) {
    const link = { orgId: 'o', integrationId: 'i', config: { host: '127.0.0.1', port }, secrets: {} };
    const logger = createLogger({ level: 'silent' });
    const connection = blueprint.connect(link, {
      clock: systemClock,
      logger,
      dataDir: '',
      onState: () => undefined,
    });
    return connection.actions.open?.({ ...command(deadlineInMs), signal });
  }
  const command = (deadlineInMs: number): Command => ({
    intentId: 'i',
    entity: {
      entityId: 'e',
      entityType: 'door',
      externalId: null,
      metadata: { channel_index: '3' },
      deviceId: 'd',
      deviceExternalId: null,
      deviceMetadata: {},
    },
    pulseSeconds: null,
    deadlineMs: systemClock.monotonicMs() + deadlineInMs,
    signal: new AbortController().signal,
  });

  it('delivers with proof', async () => {
    expect(await open(relay.port)).toEqual({ kind: 'delivered', observed: 'open' });
    expect(relay.received).toEqual(['SET 3 ON\n']);
  });

  it('passes on a refusal', async () => {
    relay.react = refuse;
    expect(await open(relay.port)).toEqual({ kind: 'refused', reason: 'locked' });
  });

  it('calls a lost answer unknown, and does not send again', async () => {
    relay.react = hangUp;
    expect((await open(relay.port))?.kind).toBe('unknown');
    expect(relay.received).toHaveLength(1);
  });

  it.each([
    ['at the deadline', 2_000, 10_000],
    ['when it is stopped', 10_000, 2_000],
  ])('takes back what a stalled network held up %s', async (_when, deadlineInMs, stopInMs) => {
    const cut = await startTcpCut(relay.port);
    cut.cut('hold');
    expect((await open(cut.port, deadlineInMs, AbortSignal.timeout(stopInMs)))?.kind).toBe('unknown');
    // Only when the reset has come to the far end of the wire is it known what it took back.
    await vi.waitFor(() => expect(cut.connections()).toBe(0), soon);
    cut.cut('none');
    expect(relay.received).toEqual([]);
    await cut.close();
  });

  it('says not sent only when nothing left', async () => {
    expect((await open(9))?.kind).toBe('not_sent');
    expect((await open(relay.port, -1))?.kind).toBe('not_sent');
    expect(relay.received).toEqual([]);
  });
});

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../kernel/clock.ts';
import { createLogger } from '../../kernel/logger.ts';
import type { Command } from '../provider.ts';
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

describe('the provider', () => {
  let relay: Server;
  let received: string[];
  let react: (line: string, socket: Socket) => void;

  beforeEach(async () => {
    received = [];
    react = (line, socket) => void socket.write(line.replace('SET', 'OK'));
    relay = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        received.push(String(chunk));
        react(String(chunk), socket);
      });
    }).listen(0, '127.0.0.1');
    await once(relay, 'listening');
  });
  afterEach(() => void relay.close());

  const portOf = () => (relay.address() as AddressInfo).port;
  function open(port: number, deadlineInMs = 5_000) {
    const link = { orgId: 'o', integrationId: 'i', config: { host: '127.0.0.1', port }, secrets: {} };
    const logger = createLogger({ level: 'silent' });
    const connection = blueprint.connect(link, {
      clock: systemClock,
      logger,
      dataDir: '',
      onState: () => undefined,
    });
    return connection.actions.open?.(command(deadlineInMs));
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
    expect(await open(portOf())).toEqual({ kind: 'delivered', observed: 'open' });
    expect(received).toEqual(['SET 3 ON\n']);
  });

  it('passes on a refusal', async () => {
    react = (_line, socket) => void socket.write('ERR locked\n');
    expect(await open(portOf())).toEqual({ kind: 'refused', reason: 'locked' });
  });

  it('calls a lost answer unknown, and does not send again', async () => {
    react = (_line, socket) => socket.destroy();
    expect((await open(portOf()))?.kind).toBe('unknown');
    expect(received).toHaveLength(1);
  });

  it('says not sent only when nothing left', async () => {
    expect((await open(9))?.kind).toBe('not_sent');
    expect((await open(portOf(), -1))?.kind).toBe('not_sent');
    expect(received).toEqual([]);
  });
});

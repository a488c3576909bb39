import { done, type Failure, tested, testedFailure } from '../ops.ts';
import type {
  Command,
  Connection,
  Delivery,
  Link,
  ObservedStatus,
  OpLimits,
  OpResult,
  ProviderContext,
  ProviderDefinition,
} from '../provider.ts';
import { brokerSettingsOf } from '../transport/mqtt-broker.ts';
import { type RelaysInput, type WaveshareConfig, waveshareManifest } from './waveshare.manifest.ts';
import {
  flashOn,
  isRefusal,
  MAX_FLASH_SECONDS,
  mbapFraming,
  readCoils,
  rtuFraming,
  writeCoil,
} from './waveshare.wire.ts';
import { createTcpLine, type Exchange, type Limits, type Line } from './waveshare-line.ts';
import { createMqttLine } from './waveshare-mqtt-line.ts';
import { channelOf, createPolling, type Polling, statusOf } from './waveshare-polling.ts';

export interface WaveshareTiming {
  readonly connectWithinMs: number;
  readonly replyWithinMs: number;
  readonly pollEveryMs: number;
}

const timing: WaveshareTiming = { connectWithinMs: 2_000, replyWithinMs: 1_500, pollEveryMs: 2_000 };
const defaultPorts = { modbus_tcp: 502, rtu_tcp: 4196 } as const;
/** The answer has to be back before the caller's own deadline turns it into "unknown". */
const ANSWER_MARGIN_MS = 100;

export const waveshare: ProviderDefinition = {
  manifest: waveshareManifest,
  connect: (link, context) => connectWaveshare(link, context, timing),
};

interface Board {
  readonly line: Line;
  readonly polling: Polling;
  readonly context: ProviderContext;
  readonly timing: WaveshareTiming;
}

export function connectWaveshare(link: Link, context: ProviderContext, times: WaveshareTiming): Connection {
  const line = lineOf(link, context, times, () => polling.wake());
  const { pollEveryMs: everyMs, replyWithinMs } = times;
  const polling = createPolling({ line, context, everyMs, replyWithinMs });
  const board: Board = { line, polling, context, timing: times };
  return {
    actions: {
      open: (command) => open(board, command),
      close: (command) => change(board, command, writeCoil(channelOf(command.entity), 'off')),
      toggle: (command) => toggle(board, command),
    },
    ops: {
      'connection.test': async (_input, limits) => {
        const found = await readRelays(board, 1, limits);
        if (found.kind === 'done') return tested(polling.health(), 'the board answers');
        return found.kind === 'refused' ? tested('reduced', found.reason) : testedFailure(found);
      },
      'relays.read': async (input, limits) =>
        readRelays(board, (input as RelaysInput).count ?? DEFAULT_RELAYS, limits),
    },
    health: polling.health,
    bind: polling.bind,
    async close() {
      polling.stop();
      await line.close();
    },
  };
}

const DEFAULT_RELAYS = 8;

/** Behind every command that waits. */
async function readRelays(
  { line, timing: { replyWithinMs } }: Board,
  count: number,
  { deadlineMs, signal }: OpLimits,
): Promise<OpResult> {
  const limits = { urgent: false, sendBeforeMs: deadlineMs, replyWithinMs, signal };
  const exchange = await line.exchange(readCoils(count), limits);
  const answer = deliveryOf(exchange);
  if (answer !== 'accepted') return answer;
  if (exchange.kind !== 'reply' || exchange.reply.kind !== 'coils') return UNREADABLE;
  return done({ relays: exchange.reply.coils.map((on, index) => ({ channel_index: index, on })) });
}

const UNREADABLE: OpResult = { kind: 'unknown', reason: 'the answer of the board cannot be read' };

function lineOf(link: Link, context: ProviderContext, times: WaveshareTiming, onReady: () => void): Line {
  const config = link.config as WaveshareConfig;
  const { transport = 'modbus_tcp', unit_id: unit = 1 } = config;
  const { clock } = context;
  if (transport !== 'rtu_mqtt') {
    return createTcpLine({
      host: config.host ?? '',
      port: config.port ?? defaultPorts[transport],
      unit,
      framing: transport === 'rtu_tcp' ? rtuFraming : mbapFraming,
      connectWithinMs: times.connectWithinMs,
      clock,
    });
  }
  return createMqttLine({
    broker: brokerSettingsOf(link),
    commandTopic: config.command_topic ?? '',
    replyTopic: config.reply_topic ?? '',
    unit,
    clock,
    logger: context.logger.child({ integration_id: link.integrationId }),
    onReady,
  });
}

async function open(board: Board, command: Command): Promise<Delivery> {
  const channel = channelOf(command.entity);
  const { pulseSeconds } = command;
  if (pulseSeconds === null) return change(board, command, writeCoil(channel, 'on'));
  if (pulseSeconds > MAX_FLASH_SECONDS) {
    return { kind: 'not_sent', reason: `the board cannot hold a relay longer than ${MAX_FLASH_SECONDS} s` };
  }
  return change(board, command, flashOn(channel, pulseSeconds));
}

/** The board's own toggle knows no pulse, so with one the relay is read first and then opened or closed. */
async function toggle(board: Board, command: Command): Promise<Delivery> {
  const channel = channelOf(command.entity);
  if (command.pulseSeconds === null) return change(board, command, writeCoil(channel, 'toggle'));
  const status = await readRelay(board, command);
  if (status === null) return { kind: 'not_sent', reason: 'the state of the relay could not be read' };
  return status === 'open' ? change(board, command, writeCoil(channel, 'off')) : open(board, command);
}

async function change(board: Board, command: Command, request: Buffer): Promise<Delivery> {
  board.polling.note(command.entity.entityId, null);
  const answer = deliveryOf(await board.line.exchange(request, limitsOf(board, command)));
  if (answer !== 'accepted') return answer;
  // A board in linkage mode echoes and does not move: only the relay itself is proof of where it is.
  const observed = await readRelay(board, command);
  board.polling.note(command.entity.entityId, observed);
  return { kind: 'delivered', observed };
}

function deliveryOf(exchange: Exchange): Failure | 'accepted' {
  if (exchange.kind === 'not_sent') return exchange;
  if (exchange.kind === 'lost') return { kind: 'unknown', reason: exchange.reason };
  const { reply } = exchange;
  if (reply.kind !== 'exception') return 'accepted';
  const reason = `the board answered with exception ${reply.code}`;
  return { kind: isRefusal(reply.code) ? 'refused' : 'unknown', reason };
}

async function readRelay(board: Board, command: Command): Promise<ObservedStatus | null> {
  const request = readCoils(1, channelOf(command.entity));
  const exchange = await board.line.exchange(request, limitsOf(board, command));
  if (exchange.kind !== 'reply' || exchange.reply.kind !== 'coils') return null;
  const [coil] = exchange.reply.coils;
  return coil === undefined ? null : statusOf(coil);
}

function limitsOf({ context, timing: { replyWithinMs } }: Board, command: Command): Limits {
  const sendBeforeMs = command.deadlineMs - ANSWER_MARGIN_MS;
  const leftMs = sendBeforeMs - context.clock.monotonicMs();
  return {
    urgent: true,
    sendBeforeMs,
    replyWithinMs: Math.max(0, Math.min(replyWithinMs, leftMs)),
    signal: command.signal,
  };
}

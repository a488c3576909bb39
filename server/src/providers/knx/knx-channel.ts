import { createSocket, type Socket } from 'node:dgram';
import type { Clock } from '../../kernel/clock.ts';
import { deviceLookup4 } from '../transport/device-address.ts';
import {
  connectRequest,
  disconnectRequest,
  disconnectResponse,
  type KnxFrame,
  readFrame,
  readTelegram,
  stateRequest,
  statusTexts,
  type Telegram,
  tunnellingAck,
  tunnellingRequest,
} from './knx.wire.ts';
import { createExpectations, type Expectations } from './knx-expectations.ts';

export interface KnxTiming {
  readonly connectWithinMs: number;
  readonly ackWithinMs: number;
  readonly confirmWithinMs: number;
  readonly heartbeatEveryMs: number;
  readonly heartbeatWithinMs: number;
}

export interface ChannelOptions {
  readonly host: string;
  readonly port: number;
  readonly localIp: string | undefined;
  readonly individualAddress: number | null;
  readonly timing: KnxTiming;
  readonly clock: Clock;
  /** Ends the attempt to connect. */
  readonly signal: AbortSignal;
  readonly onIndication: (telegram: Telegram) => void;
  /** Once, when it can no longer be used; `clean` when the gateway surely has the slot free again. */
  readonly onLost: (reason: string, clean: boolean) => void;
}

export type Sent =
  | { readonly kind: 'confirmed' }
  | { readonly kind: 'not_sent'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** One connection to a gateway, from CONNECT to DISCONNECT. It sends one telegram at a time. */
export interface Channel {
  transmit(cemi: Buffer, repeatBeforeMs: number): Promise<Sent>;
  /** Whether the gateway still knows this channel; it is lost when not. */
  check(withinMs: number, tries: number): Promise<boolean>;
  heardMs(): number;
  close(): Promise<void>;
}

type Heard = KnxFrame | { readonly kind: 'telegram'; readonly telegram: Telegram };

interface ChannelState {
  readonly options: ChannelOptions;
  readonly socket: Socket;
  readonly heard: Expectations<Heard>;
  id: number | null;
  sendSequence: number;
  receiveSequence: number;
  heardMs: number;
  heartbeat: NodeJS.Timeout | undefined;
  /** No telegram may use it any more, although it may still be taking its leave. */
  ending: boolean;
  lost: boolean;
}

const HEARTBEAT_TRIES = 3;
const DISCONNECT_WITHIN_MS = 500;

/** A reason instead of a channel when the gateway gives none. Every attempt has its own socket, so nothing old is heard. */
export async function openChannel(options: ChannelOptions): Promise<Channel | string> {
  const socket = createSocket({ type: 'udp4', lookup: deviceLookup4 });
  const state: ChannelState = {
    options,
    socket,
    heard: createExpectations(),
    id: null,
    sendSequence: 0,
    receiveSequence: 0,
    heardMs: options.clock.monotonicMs(),
    heartbeat: undefined,
    ending: false,
    lost: false,
  };
  const answer = state.heard.expect((heard) => (heard.kind === 'connect_response' ? heard : null));
  const failed = Promise.withResolvers<string>();
  const giveUp = (): void => failed.resolve('the connection was closed');
  options.signal.addEventListener('abort', giveUp, { once: true });
  socket.on('error', (error) => {
    failed.resolve(`the gateway cannot be reached: ${error.message}`);
    if (state.id !== null) lose(state, 'the gateway cannot be reached', false);
  });
  dial(state);
  const response = await Promise.race([answer.within(options.timing.connectWithinMs), failed.promise]);
  options.signal.removeEventListener('abort', giveUp);
  answer.cancel();
  if (response === null || typeof response === 'string' || response.status !== 0) {
    state.lost = true;
    socket.close();
    return refusalOf(response);
  }
  return establish(state, response.channel);
}

function dial(state: ChannelState): void {
  const { socket, options } = state;
  socket.on('message', (bytes) => receive(state, bytes));
  socket.once('connect', () => send(state, connectRequest(options.individualAddress)));
  socket.bind({ address: options.localIp ?? '0.0.0.0', exclusive: true }, () => {
    if (!state.lost) socket.connect(options.port, options.host);
  });
}

function refusalOf(response: null | string | { readonly status: number }): string {
  if (response === null) return 'the gateway does not answer';
  if (typeof response === 'string') return response;
  return statusTexts[response.status] ?? `the gateway refused with status ${response.status}`;
}

function establish(state: ChannelState, id: number): Channel {
  state.id = id;
  const { heartbeatEveryMs, heartbeatWithinMs } = state.options.timing;
  state.heartbeat = setInterval(
    () => void check(state, heartbeatWithinMs, HEARTBEAT_TRIES),
    heartbeatEveryMs,
  );
  state.heartbeat.unref();
  return {
    transmit: (cemi, repeatBeforeMs) => transmit(state, cemi, repeatBeforeMs),
    check: (withinMs, tries) => check(state, withinMs, tries),
    heardMs: () => state.heardMs,
    close: () => disconnect(state, 'the connection was closed'),
  };
}

/**
 * The repeat with the same sequence number is the protocol's own: the gateway drops it when it has the first. It too is
 * held back after the deadline, because it might be the first to arrive.
 */
async function transmit(state: ChannelState, cemi: Buffer, repeatBeforeMs: number): Promise<Sent> {
  const { id, sendSequence: sequence, options } = state;
  if (id === null || state.ending || state.lost) return { kind: 'not_sent', reason: 'there is no tunnel' };
  const { ackWithinMs, confirmWithinMs } = options.timing;
  const taken = state.heard.expect((heard) => ackOf(heard, sequence) ?? confirmationOf(heard, cemi));
  const confirmation = state.heard.expect((heard) => confirmationOf(heard, cemi));
  try {
    send(state, tunnellingRequest(id, sequence, cemi));
    let sign = await taken.within(ackWithinMs);
    if (sign === null && !state.lost && options.clock.monotonicMs() < repeatBeforeMs) {
      send(state, tunnellingRequest(id, sequence, cemi));
      sign = await taken.within(ackWithinMs);
    }
    if (sign === null || sign === 'refused') {
      await disconnect(state, 'the gateway did not acknowledge');
      return { kind: 'unknown', reason: 'the gateway did not acknowledge' };
    }
    state.sendSequence = (sequence + 1) & 0xff;
    const confirmed = await confirmation.within(confirmWithinMs);
    if (confirmed !== null) return sentBy(confirmed);
    // A late confirmation would be taken for that of the next telegram: it must not find this channel any more.
    await disconnect(state, 'the bus did not confirm');
    return { kind: 'unknown', reason: 'the bus did not confirm the telegram' };
  } finally {
    taken.cancel();
    confirmation.cancel();
  }
}

function ackOf(heard: Heard, sequence: number): 'taken' | 'refused' | null {
  if (heard.kind !== 'tunnelling_ack' || heard.sequence !== sequence) return null;
  return heard.status === 0 ? 'taken' : 'refused';
}

function confirmationOf(heard: Heard, request: Buffer): Telegram | null {
  if (heard.kind !== 'telegram' || heard.telegram.kind !== 'confirmation') return null;
  const { telegram } = heard;
  const asked = readTelegram(request);
  const isSame =
    telegram.group === asked?.group && telegram.service === asked.service && telegram.value === asked.value;
  return isSame ? telegram : null;
}

function sentBy({ failed }: Telegram): Sent {
  return failed
    ? { kind: 'not_sent', reason: 'no device on the bus acknowledged the telegram' }
    : { kind: 'confirmed' };
}

async function check(state: ChannelState, withinMs: number, tries: number): Promise<boolean> {
  for (let attempt = 0; attempt < tries && state.id !== null && !state.lost; attempt += 1) {
    const answer = state.heard.expect((heard) => (heard.kind === 'state_response' ? heard : null));
    send(state, stateRequest(state.id));
    const response = await answer.within(withinMs);
    answer.cancel();
    if (response?.status === 0) return true;
    if (response !== null) break;
  }
  lose(state, 'the gateway does not keep the tunnel', false);
  return false;
}

function receive(state: ChannelState, bytes: Buffer): void {
  const frame = readFrame(bytes);
  if (frame === null || (frame.kind !== 'connect_response' && frame.channel !== state.id)) return;
  state.heardMs = state.options.clock.monotonicMs();
  if (frame.kind === 'tunnelling_request') takeTunnelled(state, frame.channel, frame.sequence, frame.cemi);
  else if (frame.kind === 'disconnect_request') {
    send(state, disconnectResponse(frame.channel));
    lose(state, 'the gateway ended the tunnel', false);
  } else state.heard.tell(frame);
}

/** The frame before the expected one is a repeat whose acknowledgement was lost; anything else is out of order. */
function takeTunnelled(state: ChannelState, channel: number, sequence: number, cemi: Buffer): void {
  const expected = state.receiveSequence;
  const isNew = sequence === expected;
  if (!isNew && sequence !== ((expected - 1) & 0xff)) return;
  send(state, tunnellingAck(channel, sequence));
  if (!isNew) return;
  state.receiveSequence = (expected + 1) & 0xff;
  const telegram = readTelegram(cemi);
  if (telegram === null) return;
  if (telegram.kind === 'indication') state.options.onIndication(telegram);
  else state.heard.tell({ kind: 'telegram', telegram });
}

function send(state: ChannelState, bytes: Buffer): void {
  // Without a callback what goes wrong is an `error` of the socket, and judged there.
  if (!state.lost) state.socket.send(bytes);
}

async function disconnect(state: ChannelState, reason: string): Promise<void> {
  if (state.lost || state.ending || state.id === null) return;
  state.ending = true;
  const answer = state.heard.expect((heard) => (heard.kind === 'disconnect_response' ? heard : null));
  send(state, disconnectRequest(state.id));
  const isFree = (await answer.within(DISCONNECT_WITHIN_MS)) !== null;
  answer.cancel();
  lose(state, reason, isFree);
}

function lose(state: ChannelState, reason: string, clean: boolean): void {
  if (state.lost) return;
  state.lost = true;
  clearInterval(state.heartbeat);
  state.socket.close();
  state.heard.end();
  state.options.onLost(reason, clean);
}

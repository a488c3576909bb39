import { connect, type Socket } from 'node:net';
import type { Clock } from '../../kernel/clock.ts';
import { deviceLookup } from '../transport/device-address.ts';
import { createTurns } from '../transport/turns.ts';
import { type Frame, type Framing, type Reply, readReply } from './waveshare.wire.ts';

export type Exchange =
  | { readonly kind: 'reply'; readonly reply: Reply }
  | { readonly kind: 'not_sent'; readonly reason: string }
  | { readonly kind: 'lost'; readonly reason: string };

export interface Limits {
  readonly urgent: boolean;
  /** Monotonic milliseconds after which not one byte may leave any more. */
  readonly sendBeforeMs: number;
  readonly replyWithinMs: number;
  readonly signal?: AbortSignal;
}

/** One request at a time: behind the board's network module is a serial line that cannot tell two apart. */
export interface Line {
  exchange(request: Buffer, limits: Limits): Promise<Exchange>;
  /** Nothing to complain of on the way to the board. */
  isUndisturbed(): boolean;
  close(): Promise<void>;
}

export interface LineOptions {
  readonly host: string;
  readonly port: number;
  readonly unit: number;
  readonly framing: Framing;
  readonly connectWithinMs: number;
  readonly clock: Clock;
}

interface Pending {
  readonly request: Buffer;
  readonly transaction: number;
  readonly settle: (exchange: Exchange) => void;
}

interface LineState {
  socket: Socket | null;
  received: Buffer;
  pending: Pending | null;
  transaction: number;
  closed: boolean;
}

const notSent = (reason: string): Exchange => ({ kind: 'not_sent', reason });
const lost = (reason: string): Exchange => ({ kind: 'lost', reason });

/** Connects when there is something to say and keeps the connection as long as it answers. */
export function createTcpLine(options: LineOptions): Line {
  const state: LineState = {
    socket: null,
    received: Buffer.alloc(0),
    pending: null,
    transaction: 0,
    closed: false,
  };
  const turns = createTurns();
  return {
    async exchange(request, limits) {
      const withinMs = Math.max(0, limits.sendBeforeMs - options.clock.monotonicMs());
      const exchange = await turns.take({ urgent: limits.urgent, withinMs }, () =>
        transact(options, state, request, limits),
      );
      return exchange ?? notSent('the board was busy until the deadline');
    },
    isUndisturbed: () => true,
    async close() {
      state.closed = true;
      drop(state, 'the connection was closed');
    },
  };
}

async function transact(
  options: LineOptions,
  state: LineState,
  request: Buffer,
  limits: Limits,
): Promise<Exchange> {
  if (state.closed) return notSent('the connection is closed');
  state.socket ??= await dial(options, state, limits.sendBeforeMs - options.clock.monotonicMs());
  const { socket } = state;
  if (socket === null) return notSent('the board does not take a connection');
  if (limits.signal?.aborted || options.clock.monotonicMs() >= limits.sendBeforeMs) {
    return notSent('the deadline has passed');
  }
  return ask(options, state, socket, request, limits.replyWithinMs);
}

function ask(
  options: LineOptions,
  state: LineState,
  socket: Socket,
  request: Buffer,
  withinMs: number,
): Promise<Exchange> {
  return new Promise((resolve) => {
    state.transaction = (state.transaction + 1) & 0xff_ff;
    // A late answer would be read as the answer to the next request, so silence costs the connection.
    const timer = setTimeout(() => drop(state, 'the board did not answer'), withinMs);
    state.pending = {
      request,
      transaction: state.transaction,
      settle: (exchange) => {
        clearTimeout(timer);
        state.pending = null;
        resolve(exchange);
      },
    };
    socket.write(options.framing.encode(options.unit, state.transaction, request));
  });
}

/** Null when the board cannot be reached in time. */
function dial(options: LineOptions, state: LineState, withinMs: number): Promise<Socket | null> {
  return new Promise((resolve) => {
    const { host, port } = options;
    const socket = connect({ host, port, noDelay: true, keepAlive: true, lookup: deviceLookup });
    const give = (result: Socket | null): void => {
      clearTimeout(timer);
      if (result === null || state.closed) socket.destroy();
      resolve(state.closed ? null : result);
    };
    const timer = setTimeout(() => give(null), Math.max(0, Math.min(options.connectWithinMs, withinMs)));
    socket.once('connect', () => {
      state.received = Buffer.alloc(0);
      give(socket);
    });
    socket.on('data', (bytes) => receive(options, state, socket, bytes));
    socket.on('end', () => dropIf(state, socket, 'the board closed the connection'));
    socket.on('error', () => {
      give(null);
      dropIf(state, socket, 'the connection broke');
    });
    socket.on('close', () => dropIf(state, socket, 'the connection broke'));
  });
}

function receive(options: LineOptions, state: LineState, socket: Socket, bytes: Buffer): void {
  if (state.socket !== socket) return;
  state.received = Buffer.concat([state.received, bytes]);
  while (state.received.length > 0 && state.socket === socket) {
    const frame = options.framing.decode(state.received);
    if (frame === null) return;
    if (frame === 'malformed') drop(state, 'the reply was not readable');
    else {
      state.received = state.received.subarray(frame.length);
      take(options.unit, state, frame);
    }
  }
}

function take(unit: number, state: LineState, frame: Frame): void {
  const { pending } = state;
  // With transaction numbers an answer nobody waits for is harmless; without them the order is lost.
  if (frame.transaction !== null && frame.transaction !== pending?.transaction) return;
  const reply = pending === null || frame.unit !== unit ? null : readReply(pending.request, frame.pdu);
  if (reply === null) drop(state, 'the reply does not answer the request');
  else pending?.settle({ kind: 'reply', reply });
}

function dropIf(state: LineState, socket: Socket, reason: string): void {
  if (state.socket === socket) drop(state, reason);
}

/** With what still waits to be sent: a command that was given up must not arrive when the network is back. */
function drop(state: LineState, reason: string): void {
  state.socket?.resetAndDestroy();
  state.socket = null;
  state.received = Buffer.alloc(0);
  state.pending?.settle(lost(reason));
}

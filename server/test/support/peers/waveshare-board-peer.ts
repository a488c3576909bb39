import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.ts';

type Dialect = 'mbap' | 'rtu';

/** What the board does with the next requests, until it is told otherwise. */
export type BoardFault =
  | { readonly kind: 'none' }
  /** Acts, but the answer never arrives. */
  | { readonly kind: 'drop_reply' }
  /** Acts, and answers after a while. */
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'exception'; readonly code: number }
  /** Acts, then the connection is gone. */
  | { readonly kind: 'reset' }
  | { readonly kind: 'half_reply' }
  | { readonly kind: 'wrong_reply' }
  /** (B) boards: acknowledges a write, the relay does not move. */
  | { readonly kind: 'linkage' };

/** A Waveshare relay board behind its ZLAN module: 30 relays, toggle and flash, Modbus TCP or RTU on raw TCP. */
export interface BoardPeer {
  readonly port: number;
  readonly relays: readonly boolean[];
  /** The PDUs of all writes in order, as hex. */
  readonly writes: readonly string[];
  /** As somebody at the board's own web page. */
  set(relay: number, on: boolean): void;
  /** Faults concern writes only, unless `reads` is set: then reads too. */
  fault(fault: BoardFault, reads?: boolean): void;
  connections(): number;
  /** How many requests came before the answer to the one before: has to stay 0. */
  overlaps(): number;
  stop(): Promise<void>;
  /** On the same port, with all relays off as after power comes back. */
  start(): Promise<void>;
}

interface Board {
  readonly dialect: Dialect;
  readonly relays: boolean[];
  readonly writes: string[];
  readonly timers: Map<number, NodeJS.Timeout>;
  readonly sockets: Set<Socket>;
  fault: BoardFault;
  faultsReads: boolean;
  answering: number;
  overlaps: number;
}

const RELAYS = 30;

export async function startBoardPeer(dialect: Dialect): Promise<BoardPeer> {
  const board: Board = {
    dialect,
    relays: Array<boolean>(RELAYS).fill(false),
    writes: [],
    timers: new Map(),
    sockets: new Set(),
    fault: { kind: 'none' },
    faultsReads: false,
    answering: 0,
    overlaps: 0,
  };
  const port = await freePort();
  let server = await listen(board, port);
  return {
    port,
    relays: board.relays,
    writes: board.writes,
    set: (relay, on) => move(board, relay, on),
    fault: (fault, reads = false) => {
      board.fault = fault;
      board.faultsReads = reads;
    },
    connections: () => board.sockets.size,
    overlaps: () => board.overlaps,
    stop: () => powerOff(board, server),
    start: async () => {
      server = await listen(board, port);
    },
  };
}

async function listen(board: Board, port: number): Promise<Server> {
  const server = createServer((socket) => {
    board.sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('close', () => board.sockets.delete(socket));
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      // All requests of these boards have a PDU of five bytes.
      const size = board.dialect === 'mbap' ? 12 : 8;
      for (; received.length >= size; received = received.subarray(size)) {
        answer(board, socket, received.subarray(0, size));
      }
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function powerOff(board: Board, server: Server): Promise<void> {
  if (!server.listening) return;
  for (const timer of board.timers.values()) clearTimeout(timer);
  for (const socket of board.sockets) socket.resetAndDestroy();
  board.relays.fill(false);
  board.answering = 0;
  server.close();
  await once(server, 'close');
}

function answer(board: Board, socket: Socket, frame: Buffer): void {
  const rtu = board.dialect === 'rtu';
  // Garbage on the serial side gets no answer at all.
  if (rtu && checksum(frame.subarray(0, -2)) !== frame.readUInt16LE(6)) return;
  const request = rtu ? frame.subarray(1, -2) : frame.subarray(7);
  if (board.answering > 0) board.overlaps += 1;
  board.answering += 1;
  const send = (bytes: Buffer | null): void => {
    board.answering = Math.max(0, board.answering - 1);
    if (bytes !== null) socket.write(bytes);
  };
  const isWrite = request.readUInt8(0) === 5;
  if (isWrite) board.writes.push(request.toString('hex'));
  const fault: BoardFault = isWrite || board.faultsReads ? board.fault : { kind: 'none' };
  const reply = replyTo(board, request, fault);
  const bytes = rtu ? wrapRtu(frame, reply) : wrapMbap(frame, reply);
  if (fault.kind === 'delay') setTimeout(() => send(bytes), fault.ms);
  else if (fault.kind === 'half_reply') send(bytes.subarray(0, 4));
  else send(fault.kind === 'drop_reply' || fault.kind === 'reset' ? null : bytes);
  if (fault.kind === 'reset') socket.resetAndDestroy();
}

function replyTo(board: Board, request: Buffer, fault: BoardFault): Buffer {
  const code = request.readUInt8(0);
  if (fault.kind === 'exception') return Buffer.from([code | 0x80, fault.code]);
  const reply = code === 5 ? write(board, request, fault.kind !== 'linkage') : read(board, request);
  return fault.kind === 'wrong_reply' ? Buffer.concat([reply.subarray(0, -1), Buffer.from([0x2a])]) : reply;
}

function write(board: Board, request: Buffer, moves: boolean): Buffer {
  const address = request.readUInt16BE(1);
  const value = request.readUInt16BE(3);
  const relay = address & 0xff;
  const kind = address >> 8;
  if (relay >= RELAYS || (kind !== 0 && kind !== 2)) return Buffer.from([0x85, 2]);
  if (kind === 0 && ![0xff_00, 0, 0x55_00].includes(value)) return Buffer.from([0x85, 3]);
  if (!moves) return Buffer.from(request);
  if (kind === 2) {
    move(board, relay, true);
    board.timers.set(
      relay,
      setTimeout(() => move(board, relay, false), value * 100),
    );
  } else move(board, relay, value === 0x55_00 ? !board.relays[relay] : value === 0xff_00);
  return Buffer.from(request);
}

function move(board: Board, relay: number, on: boolean): void {
  clearTimeout(board.timers.get(relay));
  board.timers.delete(relay);
  board.relays[relay] = on;
}

function read(board: Board, request: Buffer): Buffer {
  const start = request.readUInt16BE(1);
  const count = request.readUInt16BE(3);
  if (request.readUInt8(0) !== 1) return Buffer.from([request.readUInt8(0) | 0x80, 1]);
  if (start + count > RELAYS) return Buffer.from([0x81, 2]);
  const bits = Buffer.alloc(Math.ceil(count / 8));
  for (let index = 0; index < count; index += 1) {
    const byte = index >> 3;
    if (board.relays[start + index]) bits.writeUInt8(bits.readUInt8(byte) | (1 << (index & 7)), byte);
  }
  return Buffer.concat([Buffer.from([1, bits.length]), bits]);
}

function wrapMbap(request: Buffer, pdu: Buffer): Buffer {
  const header = Buffer.from(request.subarray(0, 7));
  header.writeUInt16BE(pdu.length + 1, 4);
  return Buffer.concat([header, pdu]);
}

function wrapRtu(request: Buffer, pdu: Buffer): Buffer {
  const frame = Buffer.concat([request.subarray(0, 1), pdu, Buffer.alloc(2)]);
  frame.writeUInt16LE(checksum(frame.subarray(0, -2)), frame.length - 2);
  return frame;
}

/** Its own, so that a mistake in the service's is not repeated here. */
function checksum(bytes: Buffer): number {
  return bytes.reduce((crc, byte) => {
    let value = crc ^ byte;
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xa0_01 : value >>> 1;
    return value;
  }, 0xff_ff);
}

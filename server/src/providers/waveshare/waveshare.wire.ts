// Modbus as Waveshare's relay boards speak it. Function 05 with the addresses 0x0200+n is the vendor's own: the board
// itself switches off after n×100 ms, which no Modbus library can express.

const READ_COILS = 0x01;
const WRITE_COIL = 0x05;
const EXCEPTION_FLAG = 0x80;
const FLASH_ON = 0x02_00;
const MBAP_HEADER = 7;
/** Function and the longest data Modbus allows. */
const MAX_PDU = 253;

export const MAX_CHANNEL = 29;
/** The vendor's code and others disagree about bit 15, so it stays unused. */
export const MAX_FLASH_SECONDS = 0x7f_ff / 10;

const coilValues = { on: 0xff_00, off: 0x00_00, toggle: 0x55_00 } as const;
export type CoilChange = keyof typeof coilValues;

export const writeCoil = (channel: number, change: CoilChange): Buffer =>
  pdu(WRITE_COIL, channel, coilValues[change]);

export function flashOn(channel: number, seconds: number): Buffer {
  const tenths = Math.min(0x7f_ff, Math.max(1, Math.round(seconds * 10)));
  return pdu(WRITE_COIL, FLASH_ON + channel, tenths);
}

export const readCoils = (count: number, start = 0): Buffer => pdu(READ_COILS, start, count);

function pdu(code: number, address: number, value: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8(code, 0);
  bytes.writeUInt16BE(address, 1);
  bytes.writeUInt16BE(value, 3);
  return bytes;
}

export type Reply =
  | { readonly kind: 'done' }
  | { readonly kind: 'coils'; readonly coils: readonly boolean[] }
  | { readonly kind: 'exception'; readonly code: number };

/** Null when these bytes do not answer that request. */
export function readReply(request: Buffer, reply: Buffer): Reply | null {
  const code = request.readUInt8(0);
  if (reply.length === 2 && reply.readUInt8(0) === (code | EXCEPTION_FLAG)) {
    return { kind: 'exception', code: reply.readUInt8(1) };
  }
  if (code === WRITE_COIL) return reply.equals(request) ? { kind: 'done' } : null;
  const count = request.readUInt16BE(3);
  const size = Math.ceil(count / 8);
  if (reply.length !== size + 2 || reply.readUInt8(0) !== code || reply.readUInt8(1) !== size) return null;
  const coils = Array.from({ length: count }, (_, index) => bitAt(reply, index));
  return { kind: 'coils', coils };
}

/** What an answer to this request looks like: requests with the same key cannot be told apart by their answers. */
export function answerKey(request: Buffer): string {
  if (request.readUInt8(0) !== READ_COILS) return request.toString('hex');
  return `${Math.ceil(request.readUInt16BE(3) / 8)} bytes of coils`;
}

const bitAt = (reply: Buffer, index: number): boolean =>
  ((reply.readUInt8(2 + (index >> 3)) >> (index & 7)) & 1) === 1;

/** Function, address or value not understood: the board surely did nothing. Anything else may have happened. */
export const isRefusal = (exceptionCode: number): boolean => exceptionCode >= 1 && exceptionCode <= 3;

export interface Frame {
  readonly unit: number;
  /** Null where the framing has none (RTU): then only one request may be under way. */
  readonly transaction: number | null;
  readonly pdu: Buffer;
  readonly length: number;
}

export interface Framing {
  encode(unit: number, transaction: number, pdu: Buffer): Buffer;
  /** The first frame of a stream; null while it is incomplete, 'malformed' when it can never become one. */
  decode(bytes: Buffer): Frame | 'malformed' | null;
}

export const mbapFraming: Framing = {
  encode(unit, transaction, body) {
    const header = Buffer.alloc(MBAP_HEADER);
    header.writeUInt16BE(transaction, 0);
    header.writeUInt16BE(body.length + 1, 4);
    header.writeUInt8(unit, 6);
    return Buffer.concat([header, body]);
  },
  decode(bytes) {
    if (bytes.length < MBAP_HEADER) return null;
    const size = bytes.readUInt16BE(4) - 1;
    if (bytes.readUInt16BE(2) !== 0 || size < 1 || size > MAX_PDU) return 'malformed';
    const length = MBAP_HEADER + size;
    if (bytes.length < length) return null;
    const body = bytes.subarray(MBAP_HEADER, length);
    return { unit: bytes.readUInt8(6), transaction: bytes.readUInt16BE(0), pdu: body, length };
  },
};

export const rtuFraming: Framing = {
  encode(unit, _transaction, body) {
    const frame = Buffer.concat([Buffer.from([unit]), body]);
    const check = Buffer.alloc(2);
    check.writeUInt16LE(crc16(frame));
    return Buffer.concat([frame, check]);
  },
  decode(bytes) {
    const length = rtuReplyLength(bytes);
    if (length === 'malformed') return 'malformed';
    if (length === null || bytes.length < length) return null;
    if (bytes.readUInt16LE(length - 2) !== crc16(bytes.subarray(0, length - 2))) return 'malformed';
    return { unit: bytes.readUInt8(0), transaction: null, pdu: bytes.subarray(1, length - 2), length };
  },
};

/** RTU frames carry no length: it follows from the function. */
function rtuReplyLength(bytes: Buffer): number | 'malformed' | null {
  if (bytes.length < 3) return null;
  const code = bytes.readUInt8(1);
  if (code === (READ_COILS | EXCEPTION_FLAG) || code === (WRITE_COIL | EXCEPTION_FLAG)) return 5;
  if (code === WRITE_COIL) return 8;
  return code === READ_COILS ? 5 + bytes.readUInt8(2) : 'malformed';
}

/** CRC-16/MODBUS: initial FFFF, reversed polynomial A001. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xff_ff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >> 1) ^ 0xa0_01 : crc >> 1;
  }
  return crc;
}

// KNXnet/IP tunnelling and the little of cEMI a switch needs (DPT 1.001). All numbers are big-endian.

const HEADER_SIZE = 6;
const VERSION = 0x06_10;

const service = {
  connectRequest: 0x02_05,
  connectResponse: 0x02_06,
  stateRequest: 0x02_07,
  stateResponse: 0x02_08,
  disconnectRequest: 0x02_09,
  disconnectResponse: 0x02_0a,
  tunnellingRequest: 0x04_20,
  tunnellingAck: 0x04_21,
} as const;

/** An address of zero tells the gateway to answer to whoever sent the datagram, which also works through NAT. */
const ANSWER_TO_SENDER = Buffer.from('0801000000000000', 'hex');
const TUNNEL_LINK_LAYER = [0x04, 0x02, 0x00] as const;

export const statusTexts: Readonly<Record<number, string>> = {
  33: 'the gateway does not know the channel',
  34: 'the gateway does not offer tunnels',
  35: 'the gateway does not take the options',
  36: 'the gateway has no more connections',
  37: 'the individual address is in use',
  38: 'the gateway has a data error',
  39: 'the gateway has no connection to the bus',
  41: 'the gateway does not offer this layer',
};

export type KnxFrame =
  | { readonly kind: 'connect_response'; readonly channel: number; readonly status: number }
  | { readonly kind: 'state_response'; readonly channel: number; readonly status: number }
  | { readonly kind: 'disconnect_request'; readonly channel: number }
  | { readonly kind: 'disconnect_response'; readonly channel: number }
  | {
      readonly kind: 'tunnelling_request';
      readonly channel: number;
      readonly sequence: number;
      readonly cemi: Buffer;
    }
  | {
      readonly kind: 'tunnelling_ack';
      readonly channel: number;
      readonly sequence: number;
      readonly status: number;
    };

function frame(code: number, ...parts: readonly Uint8Array[]): Buffer {
  const header = Buffer.alloc(HEADER_SIZE);
  const body = Buffer.concat(parts);
  header.writeUInt16BE(VERSION, 0);
  header.writeUInt16BE(code, 2);
  header.writeUInt16BE(HEADER_SIZE + body.length, 4);
  return Buffer.concat([header, body]);
}

/** With an individual address of our choice the request is longer; only tunnelling version 2 knows it. */
export function connectRequest(individualAddress: number | null): Buffer {
  const wanted = individualAddress === null ? [] : [individualAddress >> 8, individualAddress & 0xff];
  const tunnel = Buffer.from([wanted.length + 4, ...TUNNEL_LINK_LAYER, ...wanted]);
  return frame(service.connectRequest, ANSWER_TO_SENDER, ANSWER_TO_SENDER, tunnel);
}

export const stateRequest = (channel: number): Buffer =>
  frame(service.stateRequest, Buffer.from([channel, 0]), ANSWER_TO_SENDER);

export const disconnectRequest = (channel: number): Buffer =>
  frame(service.disconnectRequest, Buffer.from([channel, 0]), ANSWER_TO_SENDER);

export const disconnectResponse = (channel: number): Buffer =>
  frame(service.disconnectResponse, Buffer.from([channel, 0]));

export const tunnellingRequest = (channel: number, sequence: number, cemi: Buffer): Buffer =>
  frame(service.tunnellingRequest, Buffer.from([4, channel, sequence, 0]), cemi);

export const tunnellingAck = (channel: number, sequence: number): Buffer =>
  frame(service.tunnellingAck, Buffer.from([4, channel, sequence, 0]));

/** Null for everything that is not whole or not of interest. */
export function readFrame(bytes: Buffer): KnxFrame | null {
  if (bytes.length < HEADER_SIZE + 2 || bytes.readUInt16BE(0) !== VERSION) return null;
  if (bytes.readUInt16BE(4) !== bytes.length) return null;
  const code = bytes.readUInt16BE(2);
  const body = bytes.subarray(HEADER_SIZE);
  if (code === service.tunnellingRequest || code === service.tunnellingAck) return readTunnelling(code, body);
  const [channel, status] = [body.readUInt8(0), body.readUInt8(1)];
  if (code === service.connectResponse) return { kind: 'connect_response', channel, status };
  if (code === service.stateResponse) return { kind: 'state_response', channel, status };
  if (code === service.disconnectRequest) return { kind: 'disconnect_request', channel };
  return code === service.disconnectResponse ? { kind: 'disconnect_response', channel } : null;
}

function readTunnelling(code: number, body: Buffer): KnxFrame | null {
  if (body.length < 4 || body.readUInt8(0) !== 4) return null;
  const [channel, sequence] = [body.readUInt8(1), body.readUInt8(2)];
  return code === service.tunnellingRequest
    ? { kind: 'tunnelling_request', channel, sequence, cemi: body.subarray(4) }
    : { kind: 'tunnelling_ack', channel, sequence, status: body.readUInt8(3) };
}

const messageCodes = { 17: 'request', 41: 'indication', 46: 'confirmation' } as const;
const groupServices = { 0: 'read', 64: 'response', 128: 'write' } as const;
const STANDARD_LOW_PRIORITY = 0xbc;
const GROUP_HOP_COUNT_6 = 0xe0;

export interface Telegram {
  readonly kind: (typeof messageCodes)[keyof typeof messageCodes];
  /** Only of a confirmation: nobody on the bus acknowledged it. */
  readonly failed: boolean;
  readonly group: number;
  readonly service: (typeof groupServices)[keyof typeof groupServices];
  /** The bit of DPT 1.001. */
  readonly value: boolean;
}

export const groupWrite = (group: number, value: boolean): Buffer => groupRequest(group, value ? 0x81 : 0x80);
export const groupRead = (group: number): Buffer => groupRequest(group, 0x00);

/** Source 0.0.0: the gateway puts in its own. */
function groupRequest(group: number, apci: number): Buffer {
  const cemi = Buffer.from([0x11, 0, STANDARD_LOW_PRIORITY, GROUP_HOP_COUNT_6, 0, 0, 0, 0, 1, 0, apci]);
  cemi.writeUInt16BE(group, 6);
  return cemi;
}

/** Null for anything but a group telegram with a value of at most six bits. */
export function readTelegram(cemi: Buffer): Telegram | null {
  if (cemi.length < 2) return null;
  const kind = messageCodes[cemi.readUInt8(0) as keyof typeof messageCodes];
  const body = cemi.subarray(2 + cemi.readUInt8(1));
  if (kind === undefined || body.length !== 9 || body.readUInt8(6) !== 1) return null;
  const isGroup = (body.readUInt8(1) & 0x80) !== 0;
  const apci = body.readUInt16BE(7);
  const groupService = groupServices[(apci & 0x03_c0) as keyof typeof groupServices];
  if (!isGroup || (apci & 0xfc_00) !== 0 || groupService === undefined) return null;
  return {
    kind,
    failed: kind === 'confirmation' && (body.readUInt8(0) & 1) === 1,
    group: body.readUInt16BE(4),
    service: groupService,
    value: (apci & 1) === 1,
  };
}

/** `2/1/1`; null for what is no group address. 0/0/0 is the broadcast address. */
export function parseGroupAddress(text: string): number | null {
  const numbers = numbersIn(/^(\d{1,2})\/(\d)\/(\d{1,3})$/, text);
  if (numbers === null) return null;
  const [main, middle, sub] = numbers;
  if (main > 31 || middle > 7 || sub > 255) return null;
  return (main << 11) | (middle << 8) | sub || null;
}

/** `1.1.250`; null for what is none. */
export function parseIndividualAddress(text: string): number | null {
  const numbers = numbersIn(/^(\d{1,2})\.(\d{1,2})\.(\d{1,3})$/, text);
  if (numbers === null) return null;
  const [area, line, device] = numbers;
  return area > 15 || line > 15 || device > 255 ? null : (area << 12) | (line << 8) | device;
}

function numbersIn(pattern: RegExp, text: string): readonly [number, number, number] | null {
  const match = pattern.exec(text);
  return match === null ? null : [Number(match[1]), Number(match[2]), Number(match[3])];
}

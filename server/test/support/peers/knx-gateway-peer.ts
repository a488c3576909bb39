import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** What the gateway does with telegrams, until it is told otherwise. */
export type GatewayFault =
  | 'none'
  /** The first acknowledgement of a telegram is lost, that of its repeat is not; the bus is slow to confirm. */
  | 'lose_first_ack'
  /** The first datagram with a telegram never arrives, its repeat does. */
  | 'lose_first_request'
  /** Acts, but neither acknowledges nor confirms. */
  | 'lose_all'
  | 'lose_con'
  /** Nobody on the bus acknowledged: nothing happened. */
  | 'error_con'
  /** Every frame of its own is sent twice, as after a lost acknowledgement. */
  | 'repeat_own';

/**
 * A KNX/IP gateway with one actuator per group address behind it, which reports on another address when it is told to
 * (`statusOf`). It keeps sequence numbers as wire-facts 6 says and drops repeats.
 */
export interface GatewayPeer {
  readonly port: number;
  /** Telegrams put on the bus, as `write 1101 1` or `read 1102`. */
  readonly bus: readonly string[];
  /** Every datagram received, as hex. */
  readonly received: readonly string[];
  fault(fault: GatewayFault): void;
  /** An actuator reports `status` whenever `command` was written. */
  statusOf(command: number, status: number): void;
  /** Another device of the bus speaks. */
  say(group: number, service: 'write' | 'response', value: boolean): void;
  refuseConnections(status: number | null): void;
  channels(): number;
  /** How many of our frames the client has not acknowledged. */
  unacknowledged(): number;
  /** Ends all tunnels from its side. */
  endTunnels(): void;
  /** As after a power cut: it knows no channel any more, and says nothing about it. */
  forgetTunnels(): void;
  stop(): Promise<void>;
}

interface ClientChannel {
  readonly remote: RemoteInfo;
  readonly awaited: Set<number>;
  /** The sequence number that was lost on the way last. */
  missed: number | null;
  expected: number;
  next: number;
}

interface Gateway {
  socket: Socket;
  readonly bus: string[];
  readonly received: string[];
  readonly channels: Map<number, ClientChannel>;
  readonly statusGroups: Map<number, number>;
  readonly values: Map<number, boolean>;
  fault: GatewayFault;
  refusal: number | null;
}

/** Longer than the tests wait for an acknowledgement, shorter than for a confirmation. */
const SLOW_BUS_MS = 750;
const NO_ADDRESS = '0801000000000000';

export async function startGatewayPeer(): Promise<GatewayPeer> {
  const socket = createSocket('udp4');
  const gateway: Gateway = {
    socket,
    bus: [],
    received: [],
    channels: new Map(),
    statusGroups: new Map(),
    values: new Map(),
    fault: 'none',
    refusal: null,
  };
  socket.on('message', (bytes, remote) => take(gateway, bytes, remote));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    bus: gateway.bus,
    received: gateway.received,
    fault: (fault) => {
      gateway.fault = fault;
    },
    statusOf: (command, status) => void gateway.statusGroups.set(command, status),
    say: (group, service, value) => indicate(gateway, group, service, value),
    refuseConnections: (status) => {
      gateway.refusal = status;
    },
    channels: () => gateway.channels.size,
    unacknowledged: () => [...gateway.channels.values()].reduce((sum, { awaited }) => sum + awaited.size, 0),
    endTunnels: () => endTunnels(gateway),
    forgetTunnels: () => gateway.channels.clear(),
    stop: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function take(gateway: Gateway, bytes: Buffer, remote: RemoteInfo): void {
  gateway.received.push(bytes.toString('hex'));
  const code = bytes.readUInt16BE(2);
  if (code === 0x02_05) {
    connect(gateway, remote);
    return;
  }
  const id = code >= 0x04_00 ? bytes.readUInt8(7) : bytes.readUInt8(6);
  const channel = gateway.channels.get(id);
  // A request on a channel it does not know is dropped without a word, except a question for the state.
  if (channel === undefined) {
    if (code === 0x02_07) send(gateway, remote, 0x02_08, hexByte(id, 0x21));
    return;
  }
  if (code === 0x02_07) send(gateway, remote, 0x02_08, hexByte(id, 0));
  else if (code === 0x02_09) {
    gateway.channels.delete(id);
    send(gateway, remote, 0x02_0a, hexByte(id, 0));
  } else if (code === 0x04_21) channel.awaited.delete(bytes.readUInt8(8));
  else if (code === 0x04_20) takeTelegram(gateway, id, channel, bytes);
}

function connect(gateway: Gateway, remote: RemoteInfo): void {
  if (gateway.refusal !== null) {
    send(gateway, remote, 0x02_06, hexByte(0, gateway.refusal));
    return;
  }
  const id = Math.max(0, ...gateway.channels.keys()) + 1;
  gateway.channels.set(id, { remote, awaited: new Set(), missed: null, expected: 0, next: 0 });
  send(gateway, remote, 0x02_06, `${hexByte(id, 0)}${NO_ADDRESS}04040004`);
}

function takeTelegram(gateway: Gateway, id: number, channel: ClientChannel, bytes: Buffer): void {
  const sequence = bytes.readUInt8(8);
  const isNew = sequence === channel.expected;
  if (!isNew && sequence !== ((channel.expected - 1) & 0xff)) return;
  const { fault } = gateway;
  if (fault === 'lose_first_request' && isNew && channel.missed !== sequence) {
    channel.missed = sequence;
    return;
  }
  if (fault !== 'lose_all' && !(fault === 'lose_first_ack' && isNew)) {
    send(gateway, channel.remote, 0x04_21, `04${hexByte(id, sequence)}00`);
  }
  if (!isNew) return;
  channel.expected = (channel.expected + 1) & 0xff;
  const cemi = Buffer.from(bytes.subarray(10));
  if (fault !== 'error_con') putOnBus(gateway, cemi);
  if (fault === 'lose_all' || fault === 'lose_con') return;
  cemi.writeUInt8(0x2e, 0);
  cemi.writeUInt8(fault === 'error_con' ? 0xbd : 0xbc, 2);
  const confirm = (): void => {
    tunnel(gateway, id, channel, cemi);
    if (fault !== 'error_con') react(gateway, cemi);
  };
  if (fault === 'lose_first_ack') setTimeout(confirm, SLOW_BUS_MS);
  else confirm();
}

function putOnBus(gateway: Gateway, cemi: Buffer): void {
  const group = cemi.readUInt16BE(6);
  const apci = cemi.readUInt8(10);
  if (apci >= 0x80) gateway.values.set(gateway.statusGroups.get(group) ?? group, (apci & 1) === 1);
  const text = group.toString(16).padStart(4, '0');
  gateway.bus.push(apci >= 0x80 ? `write ${text} ${apci & 1}` : `read ${text}`);
}

/** The actuator: reports after a write, answers a read of its status. */
function react(gateway: Gateway, cemi: Buffer): void {
  const group = cemi.readUInt16BE(6);
  const isWrite = cemi.readUInt8(10) >= 0x80;
  const status = isWrite ? gateway.statusGroups.get(group) : group;
  const value = status === undefined ? undefined : gateway.values.get(status);
  if (status === undefined || value === undefined) return;
  if (!isWrite && ![...gateway.statusGroups.values()].includes(status)) return;
  indicate(gateway, status, isWrite ? 'write' : 'response', value);
}

function indicate(gateway: Gateway, group: number, service: 'write' | 'response', value: boolean): void {
  const cemi = Buffer.from('2900bcd000050000010000', 'hex');
  cemi.writeUInt16BE(group, 6);
  cemi.writeUInt8((service === 'write' ? 0x80 : 0x40) | Number(value), 10);
  for (const [id, channel] of gateway.channels) tunnel(gateway, id, channel, cemi);
}

function tunnel(gateway: Gateway, id: number, channel: ClientChannel, cemi: Buffer): void {
  const sequence = channel.next;
  channel.next = (sequence + 1) & 0xff;
  channel.awaited.add(sequence);
  const body = `04${hexByte(id, sequence)}00${cemi.toString('hex')}`;
  send(gateway, channel.remote, 0x04_20, body);
  if (gateway.fault === 'repeat_own') send(gateway, channel.remote, 0x04_20, body);
}

function endTunnels(gateway: Gateway): void {
  for (const [id, { remote }] of gateway.channels)
    send(gateway, remote, 0x02_09, `${hexByte(id, 0)}${NO_ADDRESS}`);
  gateway.channels.clear();
}

const hexByte = (...bytes: number[]): string => Buffer.from(bytes).toString('hex');

function send(gateway: Gateway, remote: RemoteInfo, code: number, body: string): void {
  const header = Buffer.from('061000000000', 'hex');
  header.writeUInt16BE(code, 2);
  header.writeUInt16BE(6 + body.length / 2, 4);
  gateway.socket.send(Buffer.concat([header, Buffer.from(body, 'hex')]), remote.port, remote.address);
}

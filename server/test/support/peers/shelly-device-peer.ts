import { once } from 'node:events';
import { type RawData, WebSocket } from 'ws';

export interface ShellyDeviceOptions {
  readonly url: string;
  readonly id: string;
  /** False: it stays away once its socket is gone. */
  readonly redials?: boolean;
}

export interface ShellyRequest {
  readonly id: number;
  readonly src: string;
  readonly dst?: string;
  readonly method: string;
  readonly params?: { readonly id: number; readonly on?: boolean; readonly toggle_after?: number };
}

/** How it meets the next command: obey and answer, obey and lose the answer, hold it back, or answer with an error. */
export type ShellyManner =
  | { readonly kind: 'obey' }
  | { readonly kind: 'drop_reply' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'die' }
  | { readonly kind: 'refuse'; readonly code: number };

/** A Shelly Gen2+ with two switches and a cover that dials in by its outbound websocket (wire-facts 3). */
export interface ShellyDevicePeer {
  readonly switches: readonly boolean[];
  /** Every request that arrived, in order. */
  readonly requests: readonly ShellyRequest[];
  /** Every frame that arrived and is no request. */
  readonly replies: readonly unknown[];
  /** How often it got in. */
  readonly connections: number;
  readonly protocol: string;
  manner: ShellyManner;
  connected(): boolean;
  /** Somebody presses the button. */
  press(index: number): void;
  moveCover(state: string, position?: number): void;
  /** Anything, as text. */
  emit(text: string): void;
  /** Loses its connection and its outputs, and comes back. */
  reboot(): Promise<void>;
  unplug(): Promise<void>;
}

const REDIAL_MS = 20;

interface Device {
  readonly options: ShellyDeviceOptions;
  socket: WebSocket;
  /** Changes are reported only to a server that has named itself. */
  armed: boolean;
  plugged: boolean;
  manner: ShellyManner;
  connections: number;
  readonly switches: boolean[];
  cover: { readonly state: string; readonly current_pos: number | null };
  readonly requests: ShellyRequest[];
  readonly replies: unknown[];
  readonly timers: Set<NodeJS.Timeout>;
}

/** Returns when it has got in; it dials until then. */
export async function startShellyDevice(options: ShellyDeviceOptions): Promise<ShellyDevicePeer> {
  const device: Device = {
    options,
    socket: new WebSocket(options.url, 'json-rpc'),
    armed: false,
    plugged: true,
    manner: { kind: 'obey' },
    connections: 0,
    switches: [false, false],
    cover: { state: 'closed', current_pos: 0 },
    requests: [],
    replies: [],
    timers: new Set(),
  };
  live(device);
  await nextConnection(device);
  return peerOf(device);
}

function peerOf(device: Device): ShellyDevicePeer {
  return {
    switches: device.switches,
    requests: device.requests,
    replies: device.replies,
    get connections() {
      return device.connections;
    },
    get protocol() {
      return device.socket.protocol;
    },
    get manner() {
      return device.manner;
    },
    set manner(manner) {
      device.manner = manner;
    },
    connected: () => device.socket.readyState === WebSocket.OPEN,
    press: (index) => turn(device, index, !device.switches[index]),
    moveCover(state, position) {
      device.cover = { state, current_pos: position ?? null };
      notify(device, { 'cover:0': { id: 0, ...device.cover } });
    },
    emit: (text) => device.socket.send(text),
    reboot: () => reboot(device),
    async unplug() {
      device.plugged = false;
      for (const timer of device.timers) clearTimeout(timer);
      if (device.socket.readyState === WebSocket.CLOSED) return;
      device.socket.terminate();
      await once(device.socket, 'close');
    },
  };
}

function live(device: Device): void {
  const { socket } = device;
  device.armed = false;
  socket.on('open', () => {
    device.connections += 1;
    device.socket.send(notification(device, 'NotifyFullStatus', statusOf(device)));
  });
  socket.on('message', (data) => take(device, data));
  socket.on('error', () => undefined);
  socket.on('close', () => {
    if (device.plugged && device.options.redials !== false) later(device, REDIAL_MS, () => redial(device));
  });
}

function redial(device: Device): void {
  device.socket = new WebSocket(device.options.url, 'json-rpc');
  live(device);
}

async function reboot(device: Device): Promise<void> {
  device.switches.fill(false);
  device.socket.terminate();
  await nextConnection(device);
}

async function nextConnection(device: Device): Promise<void> {
  const before = device.connections;
  while (device.connections === before) await new Promise((resolve) => setTimeout(resolve, 5));
}

function later(device: Device, ms: number, act: () => void): void {
  const timer = setTimeout(() => {
    device.timers.delete(timer);
    act();
  }, ms);
  device.timers.add(timer);
}

function take(device: Device, data: RawData): void {
  const frame = JSON.parse(data.toString());
  if (typeof frame.method !== 'string') {
    device.replies.push(frame);
    return;
  }
  device.requests.push(frame);
  device.armed ||= typeof frame.src === 'string';
  meet(device, frame);
}

function meet(device: Device, request: ShellyRequest): void {
  const { manner } = device;
  const reply = (outcome: Record<string, unknown>): void => answer(device, request, outcome);
  if (request.method === 'Shelly.GetDeviceInfo') reply({ result: infoOf(device) });
  else if (manner.kind === 'refuse') reply({ error: { code: manner.code, message: 'no' } });
  else if (manner.kind === 'delay') later(device, manner.ms, () => reply(obey(device, request)));
  else if (manner.kind === 'die') device.socket.terminate();
  else if (manner.kind === 'drop_reply') obey(device, request);
  else reply(obey(device, request));
}

function obey(device: Device, { method, params }: ShellyRequest): Record<string, unknown> {
  if (method === 'Shelly.GetStatus') return { result: statusOf(device) };
  const index = params?.id ?? -1;
  const isCover = method.startsWith('Cover.');
  if (index < 0 || index >= (isCover ? 1 : device.switches.length))
    return { error: { code: -105, message: `Argument 'id', value ${index} not found!` } };
  if (method === 'Switch.Set') {
    const was_on = device.switches[index];
    turn(device, index, params?.on === true);
    const after = params?.toggle_after;
    if (after !== undefined) later(device, after * 1000, () => turn(device, index, params?.on !== true));
    return { result: { was_on } };
  }
  if (method !== 'Cover.Open' && method !== 'Cover.Close')
    return { error: { code: 404, message: 'No handler' } };
  device.cover = { state: method === 'Cover.Open' ? 'opening' : 'closing', current_pos: null };
  return { result: null };
}

function turn(device: Device, index: number, on: boolean): void {
  device.switches[index] = on;
  notify(device, { [`switch:${index}`]: { id: index, output: on, source: 'WS_in' } });
}

function notify(device: Device, params: Record<string, unknown>): void {
  if (device.armed && device.socket.readyState === WebSocket.OPEN)
    device.socket.send(notification(device, 'NotifyStatus', params));
}

function notification({ options }: Device, method: string, params: Record<string, unknown>): string {
  return JSON.stringify({ src: options.id, dst: 'ws', method, params: { ts: 1650352163.8, ...params } });
}

function statusOf({ switches, cover }: Device): Record<string, unknown> {
  const outputs = switches.map((output, id) => [`switch:${id}`, { id, source: 'init', output }]);
  return { ...Object.fromEntries(outputs), 'cover:0': { id: 0, ...cover }, ws: { connected: true } };
}

const infoOf = ({ options }: Device) => ({ id: options.id, model: 'SNSW-001X16EU', gen: 2, auth_en: false });

function answer(device: Device, { id, src }: ShellyRequest, outcome: Record<string, unknown>): void {
  if (device.socket.readyState !== WebSocket.OPEN) return;
  device.socket.send(JSON.stringify({ id, src: device.options.id, dst: src, ...outcome }));
}

// wire-facts 2.
import type { Failure } from '../ops.ts';
import type { Delivery, ObservedStatus } from '../provider.ts';
import type { HttpOutcome } from '../transport/http-once.ts';

export type Api = 'v1' | 'v2';

export interface Channel {
  readonly device: string;
  readonly index: number;
}

export interface Call {
  readonly path: string;
  readonly body: string;
  readonly contentType: string;
}

/** v2 reads ten devices with one call, v1 one. */
export const devicesPerRead: Record<Api, number> = { v1: 1, v2: 10 };

/** `pulseSeconds` is the device's own timer; v1 has none. */
export function switchCall(
  api: Api,
  key: string,
  { device, index }: Channel,
  on: boolean,
  pulseSeconds: number | null,
): Call {
  if (api === 'v1')
    return form('device/relay/control', {
      id: device,
      channel: String(index),
      turn: on ? 'on' : 'off',
      auth_key: key,
    });
  const pulse = on && pulseSeconds !== null ? { toggle_after: pulseSeconds } : {};
  return json('set/switch', key, { id: device, channel: index, on, ...pulse });
}

export function readCall(api: Api, key: string, devices: readonly string[]): Call {
  if (api === 'v1') return form('device/status', { id: devices[0] ?? '', auth_key: key });
  return json('get', key, { ids: devices, select: ['status'] });
}

function form(path: string, fields: Record<string, string>): Call {
  const body = new URLSearchParams(fields).toString();
  return { path, body, contentType: 'application/x-www-form-urlencoded' };
}

function json(name: string, key: string, body: unknown): Call {
  const path = `v2/devices/api/${name}?auth_key=${encodeURIComponent(key)}`;
  return { path, body: JSON.stringify(body), contentType: 'application/json' };
}

const REFUSALS: Readonly<Record<number, string>> = {
  400: 'the cloud does not accept the command',
  401: 'the cloud does not accept the key, or wants fewer calls',
  403: 'the cloud does not let this account in',
  404: 'the cloud does not know this address',
  429: 'the cloud wants fewer calls',
};

export function readSwitchReply(api: Api, outcome: HttpOutcome): Delivery {
  if (outcome.kind !== 'response') return outcome;
  const { status, body } = outcome;
  const reply = objectOf(parse(body));
  if (status !== 200) {
    // The cloud keeps no command for a device that is away: it can surely not happen any more.
    if (reply.error === 'DEVICE_OFFLINE') return { kind: 'not_sent', reason: 'the device is not online' };
    const reason = REFUSALS[status];
    if (reason !== undefined) return { kind: 'refused', reason };
    return { kind: 'unknown', reason: `the cloud answered ${status}` };
  }
  if (reply.isok === true || (api === 'v2' && body.trim() === ''))
    return { kind: 'delivered', observed: null };
  if (reply.isok === false) return { kind: 'refused', reason: 'the cloud did not switch' };
  return { kind: 'unknown', reason: 'the answer of the cloud cannot be read' };
}

/** Why a reading brought nothing; null when there is an answer to read. */
export function failureOf(outcome: HttpOutcome): Failure | null {
  if (outcome.kind !== 'response') return outcome;
  if (outcome.status === 200) return null;
  const reason = REFUSALS[outcome.status];
  return reason === undefined
    ? { kind: 'unknown', reason: `the cloud answered ${outcome.status}` }
    : { kind: 'refused', reason };
}

/** Status by device; null when the answer cannot be read. A device the answer does not name is missing here too. */
export function readStatuses(
  api: Api,
  devices: readonly string[],
  outcome: HttpOutcome,
): ReadonlyMap<string, DeviceStatus> | null {
  if (outcome.kind !== 'response' || outcome.status !== 200) return null;
  const reply = parse(outcome.body);
  if (api === 'v2') {
    if (!Array.isArray(reply)) return null;
    const records = reply.map(objectOf);
    return new Map(records.map((record) => [String(record.id), statusOf(record.online, record.status)]));
  }
  const { isok, data } = objectOf(reply);
  if (isok !== true) return null;
  const { online, device_status: status } = objectOf(data);
  return new Map(devices.map((device) => [device, statusOf(online, status)]));
}

export interface DeviceStatus {
  readonly online: boolean;
  readonly components: Record<string, unknown>;
}

const statusOf = (online: unknown, status: unknown): DeviceStatus => ({
  online: online === true || online === 1,
  components: objectOf(status),
});

/** Newer devices have `switch:n`, the first generation `relays`. */
export function channelStatus(status: DeviceStatus | undefined, index: number): ObservedStatus {
  if (status === undefined || !status.online) return 'unknown';
  const { relays, [`switch:${index}`]: component } = status.components;
  const relay: unknown = Array.isArray(relays) ? relays[index] : undefined;
  const output = objectOf(component).output ?? objectOf(relay).ison;
  if (typeof output !== 'boolean') return 'unknown';
  return output ? 'open' : 'closed';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

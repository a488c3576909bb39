import type { Delivery, ObservedStatus } from '../provider.ts';

/** Shelly Gen2+ RPC: JSON-RPC 2.0 shaped text frames, wire-facts 3. */
export type Frame =
  | { readonly kind: 'reply'; readonly id: number; readonly reply: Reply }
  | { readonly kind: 'call'; readonly id: number | string; readonly src: string | null }
  | { readonly kind: 'status'; readonly src: string; readonly full: boolean; readonly params: Members };

export type Reply =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly code: number | null };

export type Members = Readonly<Record<string, unknown>>;

export interface Component {
  readonly type: 'switch' | 'cover';
  readonly index: number;
}

export interface Call {
  readonly method: string;
  readonly params?: Members;
}

/** Frames only flow to a sender that names itself. */
const SRC = 'hub';
const componentPattern = /^(switch|cover):([0-9]{1,2})$/;

export const deviceInfoCall: Call = { method: 'Shelly.GetDeviceInfo' };
export const fullStatusCall: Call = { method: 'Shelly.GetStatus' };

/** Null for what is no frame, and for frames nobody here waits for. */
export function readFrame(text: string): Frame | null {
  const frame = parse(text);
  if (!isMembers(frame)) return null;
  const { id, src, method, params } = frame;
  const isId = typeof id === 'number' || typeof id === 'string';
  if (typeof method === 'string') {
    if (isId) return { kind: 'call', id, src: typeof src === 'string' ? src : null };
    const full = method === 'NotifyFullStatus';
    if ((!full && method !== 'NotifyStatus') || typeof src !== 'string' || !isMembers(params)) return null;
    return { kind: 'status', src, full, params };
  }
  return typeof id === 'number' ? readReply(id, frame) : null;
}

function readReply(id: number, frame: Members): Frame | null {
  if (isMembers(frame.error)) {
    const { code } = frame.error;
    return { kind: 'reply', id, reply: { kind: 'error', code: typeof code === 'number' ? code : null } };
  }
  // The result of a cover is null, and still a result.
  if ('error' in frame || !('result' in frame)) return null;
  return { kind: 'reply', id, reply: { kind: 'result', result: frame.result } };
}

export function writeCall(id: number, dst: string | null, { method, params }: Call): string {
  return JSON.stringify({ id, src: SRC, ...(dst === null ? {} : { dst }), method, params });
}

/** The device may call as well; nothing is offered to it. */
export function writeNoHandler(id: number | string, dst: string | null): string {
  const error = { code: 404, message: 'No handler' };
  return JSON.stringify({ id, src: SRC, ...(dst === null ? {} : { dst }), error });
}

export function componentOf(name: string): Component | null {
  const match = componentPattern.exec(name);
  if (match === null) return null;
  return { type: match[1] === 'cover' ? 'cover' : 'switch', index: Number(match[2]) };
}

/** The time a cover could be given is the running time of its motor, no pulse: it is closed by a command. */
export function callFor(
  { type, index: id }: Component,
  verb: 'open' | 'close',
  pulseSeconds: number | null,
): Call {
  if (type === 'cover') return { method: verb === 'open' ? 'Cover.Open' : 'Cover.Close', params: { id } };
  const pulse = verb === 'open' && pulseSeconds !== null ? { toggle_after: pulseSeconds } : {};
  return { method: 'Switch.Set', params: { id, on: verb === 'open', ...pulse } };
}

/** These say that nothing was done; any other code, −104 and −114 above all, leaves it open. */
const refusals: readonly (number | null)[] = [-103, -105, -108, -109, 401, 404, 429];
export const isRefusal = (code: number | null): boolean => refusals.includes(code);

export function deliveryOf({ type }: Component, verb: 'open' | 'close', reply: Reply): Delivery {
  if (reply.kind === 'error') {
    const reason = `the device answered with error ${reply.code ?? 'of no code'}`;
    return { kind: isRefusal(reply.code) ? 'refused' : 'unknown', reason };
  }
  // A cover has only begun to move.
  if (type === 'cover') return { kind: 'delivered', observed: null };
  return { kind: 'delivered', observed: verb === 'open' ? 'open' : 'closed' };
}

/** The id the device names itself by. Ids are compared in lower case. */
export function deviceIdOf(reply: Reply): string | null {
  if (reply.kind !== 'result' || !isMembers(reply.result)) return null;
  const { id } = reply.result;
  return typeof id === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(id) ? id.toLowerCase() : null;
}

/** What the device says it is; it is shown to people, so anything long or strange is left out. */
export function modelOf(reply: Reply): string | null {
  if (reply.kind !== 'result' || !isMembers(reply.result)) return null;
  const { model } = reply.result;
  return typeof model === 'string' && /^[\w .-]{1,64}$/.test(model) ? model : null;
}

/** What the members of a component, put together from all that was reported, say about a door. */
export function statusOf(component: Component, members: Members): ObservedStatus {
  if (component.type === 'switch') {
    if (typeof members.output !== 'boolean') return 'unknown';
    return members.output ? 'open' : 'closed';
  }
  const { state, current_pos: position } = members;
  if (state === 'open' || state === 'closed') return state;
  if (state !== 'stopped' || typeof position !== 'number') return 'unknown';
  return position > 0 ? 'open' : 'closed';
}

const telling = ['output', 'state', 'current_pos'];

/** Most reports are about power and temperature. */
export const tellsStatus = (delta: Members): boolean => telling.some((name) => name in delta);

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

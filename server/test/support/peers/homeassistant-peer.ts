import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type HttpPeer, type PeerAnswer, type PeerCall, startHttpPeer } from './http-peer.ts';

/**
 * slow   the answer comes at once, the state later
 * deaf   the answer is good, the device does nothing
 * drop   the device acts, then the connection breaks
 * mute   the device acts, no answer
 * jam    the device tries and reports a fault
 * fail   the device does nothing, this error
 */
export type HubMode =
  | { readonly kind: 'slow'; readonly ms: number }
  | { readonly kind: 'deaf' | 'drop' | 'mute' | 'jam' }
  | { readonly kind: 'fail'; readonly code: string };

/** Home Assistant as far as wire-facts 4 goes: states, services and the websocket, over one port. */
export interface HomeassistantPeer {
  readonly http: HttpPeer;
  /** Every service call that had its effect or was answered, as `ws switch.turn_on switch.gate`. */
  readonly calls: readonly string[];
  stateOf(entityId: string): string | undefined;
  /** The device changes by itself; null removes it from the hub. */
  set(entityId: string, state: string | null, supportedFeatures?: number): void;
  mode(mode: HubMode | null): void;
  /** False: the websocket is refused, as behind a proxy that does not let it through; open ones are cut. */
  allowWebsocket(allowed: boolean): void;
  /** Messages are read but nothing is answered any more, as on a half-open connection. */
  freeze(frozen: boolean): void;
  websockets(): number;
}

interface Hub {
  readonly token: string;
  readonly states: Map<string, { state: string; features: number; context: string }>;
  readonly subscribers: Map<WebSocket, number>;
  readonly calls: string[];
  mode: HubMode | null;
  frozen: boolean;
}

export async function startHomeassistantPeer(token: string): Promise<HomeassistantPeer> {
  const hub: Hub = { token, states: new Map(), subscribers: new Map(), calls: [], mode: null, frozen: false };
  const http = await startHttpPeer((call) => answer(hub, call));
  const sockets = new WebSocketServer({ noServer: true });
  let allowed = true;
  http.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!allowed || request.url !== '/api/websocket') socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
    else sockets.handleUpgrade(request, socket, head, (opened) => serve(hub, opened));
  });
  return {
    http,
    calls: hub.calls,
    stateOf: (entityId) => hub.states.get(entityId)?.state,
    set: (entityId, state, features) => change(hub, entityId, state, randomUUID(), features),
    mode: (mode) => {
      hub.mode = mode;
    },
    allowWebsocket: (next) => {
      allowed = next;
      if (!next) for (const socket of sockets.clients) socket.terminate();
    },
    freeze: (frozen) => {
      hub.frozen = frozen;
    },
    websockets: () => sockets.clients.size,
  };
}

function change(hub: Hub, entityId: string, state: string | null, context: string, features?: number): void {
  const old = hub.states.get(entityId);
  if (state === null) hub.states.delete(entityId);
  else hub.states.set(entityId, { state, features: features ?? old?.features ?? 0, context });
  // The hub tells a change only when there is one.
  if (old?.state === state) return;
  const data = { entity_id: entityId, old_state: null, new_state: recordOf(hub, entityId) };
  const event = { event_type: 'state_changed', data, origin: 'LOCAL', context: { id: context } };
  for (const [socket, id] of hub.subscribers) send(hub, socket, { id, type: 'event', event });
}

function recordOf({ states }: Hub, entityId: string): unknown {
  const found = states.get(entityId);
  if (found === undefined) return null;
  const attributes = { supported_features: found.features, friendly_name: `Name of ${entityId}` };
  return { entity_id: entityId, state: found.state, attributes, context: { id: found.context } };
}

const AFTER: Readonly<Record<string, string>> = {
  turn_on: 'on',
  turn_off: 'off',
  open_cover: 'opening',
  close_cover: 'closing',
  lock: 'locked',
  unlock: 'unlocked',
  open: 'open',
};

/** Carries a service out; false when there is no such service. Entities that are not there are skipped without a word. */
function carryOut(
  hub: Hub,
  via: string,
  domain: string,
  service: string,
  entityId: string,
  context: string,
): boolean {
  const known =
    /^(switch|light|cover|lock|button|script)\.(turn_on|turn_off|toggle|open_cover|close_cover|lock|unlock|open|press)$/;
  if (!known.test(`${domain}.${service}`)) return false;
  hub.calls.push(`${via} ${domain}.${service} ${entityId}`);
  const found = hub.states.get(entityId);
  if (found === undefined || found.state === 'unavailable' || hub.mode?.kind === 'deaf') return true;
  const next = hub.mode?.kind === 'jam' ? 'jammed' : stateAfter(service, found.state);
  if (hub.mode?.kind === 'slow') setTimeout(() => change(hub, entityId, next, context), hub.mode.ms).unref();
  else change(hub, entityId, next, context);
  return true;
}

function stateAfter(service: string, before: string): string {
  if (service === 'press') return new Date().toISOString();
  return AFTER[service] ?? (before === 'on' ? 'off' : 'on');
}

function answer(hub: Hub, call: PeerCall): PeerAnswer {
  if (call.headers.authorization !== `Bearer ${hub.token}`) return { status: 401, body: '401: Unauthorized' };
  const [, , kind, first = '', second = ''] = call.path.split('/');
  if (call.method === 'GET' && call.path === '/api/')
    return { status: 200, body: { message: 'API running.' } };
  if (call.method === 'GET' && call.path === '/api/states')
    return { status: 200, body: [...hub.states.keys()].map((entityId) => recordOf(hub, entityId)) };
  if (call.method === 'GET' && kind === 'states') {
    const record = recordOf(hub, first);
    return record === null
      ? { status: 404, body: { message: 'Entity not found.' } }
      : { status: 200, body: record };
  }
  if (call.method !== 'POST' || kind !== 'services') return { status: 404, body: '404: Not Found' };
  if (hub.mode?.kind === 'fail') return { status: 500, body: '500 Internal Server Error' };
  const { entity_id: entityId } = JSON.parse(call.body);
  const before = hub.states.get(entityId)?.state;
  if (!carryOut(hub, 'http', first, second, entityId, randomUUID()))
    return { status: 400, body: '400: Bad Request' };
  const changed = hub.states.get(entityId)?.state !== before;
  return { status: 200, body: changed ? [recordOf(hub, entityId)] : [] };
}

function send(hub: Hub, socket: WebSocket, message: unknown): void {
  if (!hub.frozen) socket.send(JSON.stringify(message));
}

function serve(hub: Hub, socket: WebSocket): void {
  let lastId = 0;
  let signedIn = false;
  socket.on('error', () => {}).on('close', () => hub.subscribers.delete(socket));
  send(hub, socket, { type: 'auth_required', ha_version: '2026.11.0' });
  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    if (!signedIn) {
      signedIn = message.type === 'auth' && message.access_token === hub.token;
      send(hub, socket, { type: signedIn ? 'auth_ok' : 'auth_invalid' });
      if (!signedIn) socket.close();
    } else if (message.id <= lastId) sendError(hub, socket, message.id, 'id_reuse');
    else {
      lastId = message.id;
      obey(hub, socket, message);
    }
  });
}

function sendError(hub: Hub, socket: WebSocket, id: number, code: string): void {
  send(hub, socket, { id, type: 'result', success: false, error: { code, message: `no: ${hub.token}` } });
}

interface HubMessage {
  readonly id: number;
  readonly type: string;
  readonly domain: string;
  readonly service: string;
  readonly target: { readonly entity_id: string };
}

function obey(hub: Hub, socket: WebSocket, message: HubMessage): void {
  const { id, type } = message;
  const succeed = (result: unknown): void => send(hub, socket, { id, type: 'result', success: true, result });
  if (type === 'ping') send(hub, socket, { id, type: 'pong' });
  else if (type === 'subscribe_events') {
    hub.subscribers.set(socket, id);
    succeed(null);
  } else if (type === 'get_states')
    succeed([...hub.states.keys()].map((entityId) => recordOf(hub, entityId)));
  else if (type !== 'call_service') sendError(hub, socket, id, 'unknown_command');
  else callService(hub, socket, message, succeed);
}

function callService(
  hub: Hub,
  socket: WebSocket,
  { id, domain, service, target }: HubMessage,
  succeed: (result: unknown) => void,
): void {
  const context = randomUUID();
  if (hub.mode?.kind === 'fail') sendError(hub, socket, id, hub.mode.code);
  else if (!carryOut(hub, 'ws', domain, service, target.entity_id, context))
    sendError(hub, socket, id, 'not_found');
  else if (hub.mode?.kind === 'drop') socket.terminate();
  else if (hub.mode?.kind !== 'mute') succeed({ context: { id: context, parent_id: null, user_id: null } });
}

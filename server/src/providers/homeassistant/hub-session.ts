import { WebSocket } from 'ws';
import type { Secret } from '../../kernel/secret.ts';
import { openResettingSocket } from '../transport/resetting-socket.ts';
import { type HubState, objectOf, parseJson, readState } from './homeassistant.wire.ts';

/** lost = the connection is gone and a reply may have been on its way. */
export type HubReply =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error'; readonly code: string }
  | { readonly kind: 'lost' };

export interface SessionEvents {
  /** Signed in, subscribed, and these are all the states there are. */
  onLive(states: readonly HubState[]): void;
  onState(entityId: string, state: HubState | null): void;
  /** Once, whatever happened; refused = the hub does not accept the token. */
  onEnd(why: 'lost' | 'refused'): void;
}

export interface SessionTimes {
  readonly pingEveryMs: number;
  /** For the handshake, for signing in and for a pong. */
  readonly answerWithinMs: number;
}

export interface HubCommand {
  readonly reply: Promise<HubReply>;
  /** Its time is over: what the hub has not taken by now must not reach it any more. */
  giveUp(): void;
}

export interface HubSession {
  /** Null when the connection is not open: then nothing was sent. */
  command(message: Record<string, unknown>): HubCommand | null;
  end(): void;
}

const MAX_MESSAGE_BYTES = 33_554_432;

/** One websocket to the hub, from dialling to its end (wire-facts 4). It does not come back by itself. */
export function startHubSession(
  url: string,
  token: Secret,
  times: SessionTimes,
  events: SessionEvents,
): HubSession {
  const socket = new WebSocket(url, {
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    createConnection: () => openResettingSocket(targetOf(new URL(url))).stream,
  });
  const replies = createReplies(socket);
  const watchdog = createWatchdog(socket, replies, times);
  let refused = false;
  socket.on('message', (data) => {
    const message = objectOf(parseJson(String(data)));
    if (message.type === 'auth_required')
      socket.send(JSON.stringify({ type: 'auth', access_token: token.reveal() }));
    else if (message.type === 'auth_ok') void begin(replies, watchdog, events);
    else if (message.type === 'auth_invalid') {
      refused = true;
      socket.close();
    } else if (message.type === 'event') tellState(message, events);
    else replies.settle(message);
  });
  // Without a listener the error would end the process; `close` always follows it.
  socket.on('error', () => {});
  socket.on('close', () => {
    watchdog.stop();
    replies.lose();
    events.onEnd(refused ? 'refused' : 'lost');
  });
  return { command: (message) => command(socket, replies, message), end: () => socket.terminate() };
}

function targetOf({ protocol, hostname, port }: URL) {
  const tls = protocol === 'wss:';
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (tls ? 443 : 80)), tls };
}

/**
 * The hub answers a service call only when it is carried out, which may take long. It reads in order: who answers the
 * ping behind the call has the call.
 */
function command(socket: WebSocket, replies: Replies, message: Record<string, unknown>): HubCommand | null {
  const reply = replies.request(message);
  if (reply === null) return null;
  let taken = false;
  const take = ({ kind }: HubReply): void => {
    taken ||= kind !== 'lost';
  };
  void reply.then(take);
  void replies.request({ type: 'ping' })?.then(take);
  return { reply, giveUp: () => void (taken || socket.terminate()) };
}

type Replies = ReturnType<typeof createReplies>;

function createReplies(socket: WebSocket) {
  const pending = new Map<number, (reply: HubReply) => void>();
  let lastId = 0;
  return {
    request(message: Record<string, unknown>): Promise<HubReply> | null {
      if (socket.readyState !== WebSocket.OPEN) return null;
      const id = ++lastId;
      const { promise, resolve } = Promise.withResolvers<HubReply>();
      pending.set(id, resolve);
      socket.send(JSON.stringify({ id, ...message }));
      return promise;
    },
    settle({ id, type, success, result, error }: Record<string, unknown>): void {
      const resolve = typeof id === 'number' ? pending.get(id) : undefined;
      if (resolve === undefined) return;
      pending.delete(Number(id));
      if (type === 'pong' || success === true) resolve({ kind: 'result', result });
      else resolve({ kind: 'error', code: String(objectOf(error).code) });
    },
    lose(): void {
      for (const resolve of pending.values()) resolve({ kind: 'lost' });
      pending.clear();
    },
  };
}

/** Ends a connection that is silent: while signing in, and afterwards when a ping is not answered. */
function createWatchdog(socket: WebSocket, replies: Replies, times: SessionTimes) {
  const bite = (): void => socket.terminate();
  let limit = setTimeout(bite, times.answerWithinMs);
  let next: NodeJS.Timeout | undefined;
  function calm(): void {
    clearTimeout(limit);
    next = setTimeout(ping, times.pingEveryMs);
  }
  function ping(): void {
    limit = setTimeout(bite, times.answerWithinMs);
    void replies.request({ type: 'ping' })?.then(({ kind }) => kind !== 'lost' && calm());
  }
  return {
    calm,
    stop(): void {
      clearTimeout(limit);
      clearTimeout(next);
    },
  };
}

/** Subscribes before it asks for the states, so that no change falls between. */
async function begin(
  replies: Replies,
  watchdog: ReturnType<typeof createWatchdog>,
  events: SessionEvents,
): Promise<void> {
  const subscribed = replies.request({ type: 'subscribe_events', event_type: 'state_changed' });
  const states = await replies.request({ type: 'get_states' });
  if ((await subscribed)?.kind !== 'result' || states?.kind !== 'result') return;
  if (!Array.isArray(states.result)) return;
  watchdog.calm();
  events.onLive(states.result.map(readState).filter((state) => state !== null));
}

function tellState(message: Record<string, unknown>, events: SessionEvents): void {
  const { entity_id: entityId, new_state: state } = objectOf(objectOf(message.event).data);
  if (typeof entityId === 'string') events.onState(entityId, readState(state));
}

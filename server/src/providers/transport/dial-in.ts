import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { hmacSha256, Secret } from '../../kernel/secret.ts';

/** The socket of a device that dialled in, as its provider uses it. */
export interface DialInSocket {
  /** False when it is not open: then provably nothing was written. */
  send(text: string): boolean;
  /** Ends it and discards what is written but not delivered, so that a command can not arrive late. */
  reset(): void;
  close(): void;
}

export interface DialInSession {
  onText(text: string): void;
  /** Called once, whoever ended it. */
  onClose(): void;
}

export type DialInHandler = (socket: DialInSocket) => DialInSession;

export interface DialIn {
  /** Takes the sockets of a path, `<kind>/<integration id>`. The answer ends that, and those sockets. */
  accept(path: string, handler: DialInHandler): () => void;
  /** The address a device has to dial for it. */
  address(integrationId: string): Secret;
}

/** Where the devices that connect to the service meet the providers that wait for them. One per process. */
export interface DialInHub extends DialIn {
  room(path: string): 'none' | 'full' | 'free';
  /** `raw` is the connection below the websocket. */
  take(path: string, socket: WebSocket, raw: Duplex): void;
  /** Ends all sockets and takes no more. */
  close(): void;
}

export interface DialInLimits {
  readonly pingEveryMs: number;
  readonly maxSockets: number;
}

/** What the addresses are made of. */
export interface DialInAddressing {
  readonly publicUrl: string;
  readonly pepper: Secret;
}

/** `maxSockets` is meant per path. */
export const dialInLimits: DialInLimits = { pingEveryMs: 30_000, maxSockets: 256 };

const GOING_AWAY = 1001;
const CLOSE_WITHIN_MS = 1_000;
/** A device that sends and never reads must not fill the memory with answers to it. */
const MAX_UNREAD_BYTES = 262_144;

interface Entrance {
  readonly handler: DialInHandler;
  readonly sockets: Set<WebSocket>;
}

export function createDialInHub(
  { publicUrl, pepper }: DialInAddressing,
  limits: DialInLimits = dialInLimits,
): DialInHub {
  const entrances = new Map<string, Entrance>();
  const end = (path: string, entrance: Entrance): void => {
    if (entrances.get(path) === entrance) entrances.delete(path);
    for (const socket of entrance.sockets) closeSoon(socket);
  };
  let closed = false;
  return {
    accept(path, handler) {
      const entrance: Entrance = { handler, sockets: new Set() };
      if (!closed) entrances.set(path, entrance);
      return () => end(path, entrance);
    },
    address: (integrationId) => new Secret(dialInUrl(publicUrl, pepper, integrationId)),
    room(path) {
      const entrance = entrances.get(path);
      if (entrance === undefined) return 'none';
      return entrance.sockets.size < limits.maxSockets ? 'free' : 'full';
    },
    take(path, socket, raw) {
      const entrance = entrances.get(path);
      if (entrance === undefined) closeSoon(socket);
      else attend(entrance, socket, raw, limits.pingEveryMs);
    },
    close() {
      closed = true;
      for (const [path, entrance] of entrances) end(path, entrance);
    },
  };
}

function attend({ handler, sockets }: Entrance, socket: WebSocket, raw: Duplex, pingEveryMs: number): void {
  sockets.add(socket);
  const stopPings = keepAlive(socket, pingEveryMs);
  const session = handler(dialInSocket(socket, raw));
  socket.on('message', (data, isBinary) => {
    if (!isBinary) session.onText(data.toString());
  });
  // The close event follows every error; there is nothing to do before it.
  socket.on('error', () => undefined);
  socket.once('close', () => {
    stopPings();
    sockets.delete(socket);
    session.onClose();
  });
}

function dialInSocket(socket: WebSocket, raw: Duplex): DialInSocket {
  const reset = (): void => {
    // An ordinary end would let the kernel go on delivering what is still in its buffer.
    if (raw instanceof Socket) raw.resetAndDestroy();
    else raw.destroy();
  };
  return {
    send(text) {
      if (socket.readyState !== socket.OPEN) return false;
      if (socket.bufferedAmount > MAX_UNREAD_BYTES) {
        reset();
        return false;
      }
      socket.send(text, () => undefined);
      return true;
    },
    reset,
    close: () => closeSoon(socket),
  };
}

/** Anything that arrives is a sign of life; a socket that is silent from one ping to the next is dropped. */
function keepAlive(socket: WebSocket, everyMs: number): () => void {
  let alive = true;
  const live = (): void => {
    alive = true;
  };
  socket.on('pong', live).on('ping', live).on('message', live);
  const timer = setInterval(() => {
    if (!alive) socket.terminate();
    else if (socket.readyState === socket.OPEN) socket.ping();
    alive = false;
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

function closeSoon(socket: WebSocket): void {
  socket.close(GOING_AWAY);
  const timer = setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Such a device proves nothing about itself, so the address it is given is the proof: nobody can guess it, and nothing
 * has to be stored for it.
 */
export function dialInToken(pepper: Secret, integrationId: string): string {
  return hmacSha256(pepper, `dial-in ${integrationId}`).toString('base64url');
}

/** What is entered at a Shelly as the server of its outbound websocket. It is a secret. */
export function dialInUrl(publicUrl: string, pepper: Secret, integrationId: string): string {
  const origin = publicUrl.replace(/^http/, 'ws').replace(/\/+$/, '');
  return `${origin}/dial-in/shelly/${integrationId}/${dialInToken(pepper, integrationId)}`;
}

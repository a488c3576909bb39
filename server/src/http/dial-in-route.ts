import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { WebSocketServer } from 'ws';
import { equalInConstantTime, type Secret } from '../kernel/secret.ts';
import { type DialInHub, dialInToken } from '../providers/transport/dial-in.ts';
import { createDialInForward, type DialInForward, isForwarded } from './dial-in-forward.ts';

export interface DialInRouteDeps {
  readonly hub: DialInHub;
  readonly pepper: Secret;
  /** Of the other node that holds the connection of an integration; null when no other does. */
  readonly ownerAddress?: (integrationId: string) => Promise<string | null>;
}

const PREFIX = '/dial-in/';
const addressPattern = /^\/dial-in\/([a-z]{1,32})\/([A-Za-z0-9-]{1,64})\/([A-Za-z0-9_-]{43})$/;
const MAX_FRAME_BYTES = 65_536;

/** Every other request that asks for another protocol is answered as if it had not: that is what HTTP wants. */
export function isDialIn({ url }: Pick<IncomingMessage, 'url'>): boolean {
  return url?.startsWith(PREFIX) ?? false;
}

/** The entrance of devices that connect to the service by websocket: /dial-in/<kind>/<integration>/<token>. */
export function addDialInRoute(http: FastifyInstance, deps: DialInRouteDeps): void {
  const { hub, pepper } = deps;
  const forward = createDialInForward(refuse);
  const websockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    handleProtocols: (offered) => (offered.has('json-rpc') ? 'json-rpc' : false),
  });
  http.server.on('upgrade', (request, raw: Duplex, head) => {
    const path = pathOf(request, pepper);
    const room = path === null ? 'none' : hub.room(path);
    // A wrong token, an unknown integration and a paused one look the same from outside.
    if (path === null) refuse(raw, '404 Not Found');
    else if (room === 'none') void carryOrRefuse(deps, forward, path, { request, raw, head });
    else if (room === 'full') refuse(raw, '503 Service Unavailable');
    else websockets.handleUpgrade(request, raw, head, (socket) => hub.take(path, socket, raw));
  });
  // The server waits for its connections when it closes, and these would never end by themselves.
  http.addHook('preClose', async () => {
    hub.close();
    forward.close();
  });
}

interface Arrival {
  readonly request: IncomingMessage;
  readonly raw: Duplex;
  readonly head: Buffer;
}

/** A device knows one address, behind which there may be many nodes; only one of them waits for it. */
async function carryOrRefuse(
  { ownerAddress }: DialInRouteDeps,
  forward: DialInForward,
  path: string,
  { request, raw, head }: Arrival,
): Promise<void> {
  raw.on('error', () => raw.destroy());
  const integrationId = path.slice(path.indexOf('/') + 1);
  const found = isForwarded(request) ? null : ownerAddress?.(integrationId).catch(() => null);
  const address = (await found) ?? null;
  if (address === null) refuse(raw, '404 Not Found');
  else forward.carry(address, request, raw, head);
}

/** The path of the hub, or null when the address is not one the service gave out. */
function pathOf({ url = '' }: IncomingMessage, pepper: Secret): string | null {
  const [, kind, integrationId = '', token = ''] = addressPattern.exec(url) ?? [];
  const expected = Buffer.from(dialInToken(pepper, integrationId));
  return equalInConstantTime(Buffer.from(token), expected) ? `${kind}/${integrationId}` : null;
}

function refuse(raw: Duplex, status: string): void {
  raw.on('error', () => raw.destroy());
  raw.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';

export interface PeerCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface PeerAnswer {
  readonly status: number;
  /** Text as it is, anything else as JSON. */
  readonly body: unknown;
}

/**
 * drop    the call has its effect, then the connection is reset
 * delay   the call has its effect, the answer comes late
 * answer  no effect, this answer
 */
export type PeerFault =
  | { readonly kind: 'drop' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'answer'; readonly status: number; readonly body: unknown };

export interface HttpPeer {
  readonly url: string;
  readonly calls: readonly PeerCall[];
  /** For every call from now on whose path matches; null heals. */
  fault(fault: PeerFault | null, path?: RegExp): void;
  /** As when the power goes: connections break and new ones are refused, until start. */
  stop(): Promise<void>;
  start(): Promise<void>;
  openConnections(): number;
  readonly server: Server;
}

/** The part of an HTTP twin that can misbehave. `answer` is where a call has its effect. */
export async function startHttpPeer(answer: (call: PeerCall) => PeerAnswer): Promise<HttpPeer> {
  const calls: PeerCall[] = [];
  const sockets = new Set<Socket>();
  let fault: PeerFault | null = null;
  let faulty = /^/;
  const port = await freePort();
  const server = createServer((request, response) => void serve(request, response));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await readCall(request).catch(() => null);
    if (call === null) return;
    calls.push(call);
    const current = faulty.test(call.path) ? fault : null;
    const given = current?.kind === 'answer' ? current : answer(call);
    if (current?.kind === 'drop') return void request.socket.resetAndDestroy();
    if (current?.kind === 'delay') await delay(current.ms, undefined, { ref: false });
    const text = typeof given.body === 'string' ? given.body : JSON.stringify(given.body);
    response.writeHead(given.status, { 'content-type': 'application/json' }).end(text);
  }

  async function start(): Promise<void> {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  }
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    server,
    fault: (next, path = /^/) => {
      fault = next;
      faulty = path;
    },
    start,
    stop: () => stopServer(server, sockets),
    openConnections: () => sockets.size,
  };
}

async function stopServer(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  for (const socket of sockets) socket.destroy();
  await closed;
}

async function readCall(request: IncomingMessage): Promise<PeerCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://peer');
  return {
    method: request.method ?? '',
    path: pathname,
    query: searchParams,
    headers: request.headers,
    body: Buffer.concat(chunks).toString(),
  };
}

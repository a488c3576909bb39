import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../kernel/clock.ts';
import { deviceLookup, leadsToMetadata } from './device-address.ts';

/**
 * What is known about one request (wire-facts 0). Reasons are made of fixed words and error codes only: an error message of
 * Node can hold the address, and an address can hold a key.
 */
export type HttpOutcome =
  | { readonly kind: 'not_sent'; readonly reason: string }
  | { readonly kind: 'response'; readonly status: number; readonly body: string }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface HttpOnceRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Monotonic milliseconds, for the whole exchange. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

const MAX_BODY_BYTES = 1_048_576;
const MAX_CONNECT_MS = 3000;
/** A failed connect is proof that nothing was sent; it must be told before the caller's own deadline makes it unknown. */
const CONNECT_MARGIN_MS = 250;

/**
 * One request on a connection of its own. Devices are moved by GET too, and anything in the middle may repeat a GET, so
 * there is no agent, no keep-alive, no proxy, no redirect and no retry. The connection is made first and the request is
 * written afterwards: what fails in the first half was provably not sent, everything in the second half is unknown.
 */
export async function httpOnce(request: HttpOnceRequest): Promise<HttpOutcome> {
  const url = URL.canParse(request.url) ? new URL(request.url) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return notSent('the address is not usable');
  if (leadsToMetadata(request.url)) return notSent('the address is not allowed');
  const connected = await openSocket(url, request);
  if ('kind' in connected) return connected;
  if (request.clock.monotonicMs() >= request.deadlineMs) {
    connected.reset();
    return notSent('the deadline has passed');
  }
  const outcome = await exchange(connected.stream, url, request);
  if (outcome.kind === 'response') connected.stream.destroy();
  else connected.reset();
  return outcome;
}

interface Dialled {
  readonly stream: Socket;
  /** Drops the connection with what still waits to be sent: a request that was given up must not arrive later. */
  reset(): void;
}

type NotSent = Extract<HttpOutcome, { kind: 'not_sent' }>;
type Unknown = Extract<HttpOutcome, { kind: 'unknown' }>;

const notSent = (reason: string): NotSent => ({ kind: 'not_sent', reason });
const unknown = (reason: string): Unknown => ({ kind: 'unknown', reason });

function openSocket(url: URL, { clock, deadlineMs, signal }: HttpOnceRequest): Promise<Dialled | NotSent> {
  const left = deadlineMs - clock.monotonicMs();
  if (left <= 0) return Promise.resolve(notSent('the deadline has passed'));
  if (signal?.aborted) return Promise.resolve(notSent('stopped before sending'));
  const dialled = dial(url);
  const socket = dialled.stream;
  return new Promise((resolve) => {
    const settle = (result: Dialled | NotSent): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      // A late error of a given-up connect must not end the process.
      socket.removeAllListeners().on('error', () => {});
      if ('kind' in result) dialled.reset();
      resolve(result);
    };
    const stop = (): void => settle(notSent('stopped before sending'));
    const limit = Math.min(MAX_CONNECT_MS, Math.max(left - CONNECT_MARGIN_MS, left / 2));
    const timer = setTimeout(() => settle(notSent('no connection in time')), limit);
    signal?.addEventListener('abort', stop, { once: true });
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => settle(dialled));
    socket.once('error', (error) => settle(notSent(`no connection (${codeOf(error)})`)));
    socket.once('close', () => settle(notSent('no connection (closed)')));
  });
}

function dial(url: URL): Dialled {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const secure = url.protocol === 'https:';
  const tcp = connectTcp({ host, port: Number(url.port || (secure ? 443 : 80)), lookup: deviceLookup });
  if (!secure) return { stream: tcp, reset: () => void tcp.resetAndDestroy() };
  const stream = connectTls({ socket: tcp, host, ...(isIP(host) === 0 ? { servername: host } : {}) });
  tcp.on('error', (error) => stream.destroy(error));
  const reset = (): void => {
    tcp.resetAndDestroy();
    stream.destroy();
  };
  return { stream, reset };
}

function exchange(socket: Socket, url: URL, request: HttpOnceRequest): Promise<HttpOutcome> {
  const { method, headers = {}, body, deadlineMs, clock, signal } = request;
  return new Promise((resolve) => {
    const settle = (outcome: HttpOutcome): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      resolve(outcome);
    };
    const stop = (): void => settle(unknown('stopped before the answer'));
    const timer = setTimeout(() => settle(unknown('no answer in time')), deadlineMs - clock.monotonicMs());
    signal?.addEventListener('abort', stop, { once: true });
    try {
      const sent = httpRequest({
        method,
        path: `${url.pathname}${url.search}`,
        headers: { ...headersOf(url, body), ...headers },
        setHost: false,
        createConnection: () => socket,
      });
      sent.on('response', (response) => collect(response, settle));
      sent.on('error', (error) => settle(unknown(`the connection broke (${codeOf(error)})`)));
      sent.on('close', () => settle(unknown('the connection was closed without a whole answer')));
      sent.end(body);
    } catch (error) {
      // Node checks path and headers before it writes anything.
      settle(notSent(`the request cannot be written (${codeOf(error)})`));
    }
  });
}

const headersOf = (url: URL, body: string | undefined): Record<string, string> => ({
  host: url.host,
  'accept-encoding': 'identity',
  ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
});

function collect(response: IncomingMessage, settle: (outcome: HttpOutcome) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes <= MAX_BODY_BYTES) return;
    settle(unknown('the answer is too large'));
    response.destroy();
  });
  response.on('end', () => {
    if (!response.complete) return settle(unknown('the answer was cut off'));
    settle({ kind: 'response', status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
  });
  response.on('error', (error) => settle(unknown(`the answer broke off (${codeOf(error)})`)));
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_]{2,60}$/.test(code) ? code : 'error';
}

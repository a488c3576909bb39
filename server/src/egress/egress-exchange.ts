import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { EgressOutcome, EgressRequest } from './egress.ts';
import type { CheckedAddress, EgressTarget } from './egress-target.ts';

export interface ExchangeOptions extends EgressRequest {
  readonly maxBytes: number;
  readonly connectTimeoutMs: number;
  readonly signal: AbortSignal;
  readonly ca?: string;
}

/** Said to the caller, so never with words of the other side or of the system in it. */
class ExchangeFailed extends Error {}

export async function exchange(target: EgressTarget, options: ExchangeOptions): Promise<EgressOutcome> {
  try {
    const response = await send(target, options);
    return await readAnswer(response, options);
  } catch (error) {
    if (options.signal.aborted) return { kind: 'failed', reason: 'no answer in time' };
    return { kind: 'failed', reason: error instanceof ExchangeFailed ? error.message : reasonOf(error) };
  }
}

function send({ url, addresses }: EgressTarget, options: ExchangeOptions): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const settings: RequestOptions = {
    method: options.method ?? 'GET',
    host,
    port: url.port === '' ? undefined : Number(url.port),
    path: `${url.pathname}${url.search}`,
    headers: headersOf(url, options),
    lookup: checkedLookup(addresses),
    // A connection of its own: one that is kept could have been made for another name.
    agent: false,
    maxHeaderSize: 16_384,
    signal: options.signal,
    ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, '') } : {}),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  };
  const request = url.protocol === 'https:' ? httpsRequest(settings) : httpRequest(settings);
  limitConnecting(request, url.protocol === 'https:' ? 'secureConnect' : 'connect', options.connectTimeoutMs);
  request.on('response', resolve);
  request.on('error', reject);
  // Without a listener an upgrade would keep the socket open.
  request.on('upgrade', (_, socket) => {
    socket.destroy();
    reject(new ExchangeFailed('the answer is no HTTP answer'));
  });
  request.end(options.body);
  return promise;
}

/** The name is never resolved again between the check and the connection. */
function checkedLookup(addresses: readonly CheckedAddress[]): LookupFunction {
  return (_host, { all }, callback) => {
    const [first] = addresses;
    if (all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family ?? 4);
  };
}

function headersOf(
  url: URL,
  { headers = {}, accept, body }: ExchangeOptions,
): Record<string, string | number> {
  const given = Object.entries(headers).filter(([name]) => !ownHeaders.has(name.toLowerCase()));
  return {
    'user-agent': 'Lintel',
    ...Object.fromEntries(given),
    accept: accept?.join(', ') ?? '*/*',
    // What is not unpacked can not be a bomb.
    'accept-encoding': 'identity',
    host: url.host,
    connection: 'close',
    ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
  };
}

const ownHeaders = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function limitConnecting(
  request: ClientRequest,
  event: 'connect' | 'secureConnect',
  timeoutMs: number,
): void {
  const timer = setTimeout(() => request.destroy(new ExchangeFailed('no connection in time')), timeoutMs);
  request.on('socket', (socket) => socket.once(event, () => clearTimeout(timer)));
  request.on('close', () => clearTimeout(timer));
}

async function readAnswer(
  response: IncomingMessage,
  { maxBytes, accept }: ExchangeOptions,
): Promise<EgressOutcome> {
  try {
    const headers = plainHeaders(response);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) requireAcceptable(headers, accept);
    const body = await readBody(response, maxBytes);
    return { kind: 'response', status, headers, body };
  } finally {
    response.destroy();
  }
}

function requireAcceptable(headers: Record<string, string>, accept: readonly string[] | undefined): void {
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new ExchangeFailed('the answer is compressed');
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (accept !== undefined && !accept.includes(type))
    throw new ExchangeFailed(`the answer is none of ${accept.join(', ')}`);
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new ExchangeFailed(`the answer is larger than ${maxBytes} bytes`);
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function plainHeaders({ headers }: IncomingMessage): Record<string, string> {
  const entries = Object.entries(headers).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(entries);
}

function reasonOf(error: unknown): string {
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
  return code === null ? 'no usable answer' : `no usable answer (${code})`;
}

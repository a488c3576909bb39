import { once } from 'node:events';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ClientOptions, WebSocket } from 'ws';
import { eventually } from '../../test/support/eventually.ts';
import { createLogger } from '../kernel/logger.ts';
import { Secret } from '../kernel/secret.ts';
import {
  createDialInHub,
  type DialInHub,
  type DialInSocket,
  dialInLimits,
  dialInUrl,
} from '../providers/transport/dial-in.ts';
import { addDialInRoute } from './dial-in-route.ts';
import { createHttpServer } from './server.ts';

const pepper = new Secret('a pepper of the tests');
const addressing = { publicUrl: 'http://127.0.0.1', pepper };

let http: FastifyInstance;
let hub: DialInHub;
let origin: string;
let seen: { readonly sockets: DialInSocket[]; readonly texts: string[]; ended: number };
let stop: () => void;

beforeEach(() => serve(createDialInHub(addressing)));
afterEach(() => {
  vi.useRealTimers();
  return http.close();
});

async function serve(withHub: DialInHub): Promise<void> {
  hub = withHub;
  http = createHttpServer({
    logger: createLogger({ level: 'silent' }),
    https: false,
    trustProxy: false,
    bodyLimitBytes: 1000,
  });
  http.get('/page', async () => 'a page');
  addDialInRoute(http, { hub, pepper });
  await http.listen({ host: '127.0.0.1', port: 0 });
  origin = `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`;
  // The sockets of one test may end in the next.
  const mine: typeof seen = { sockets: [], texts: [], ended: 0 };
  seen = mine;
  stop = hub.accept('shelly/I', (socket) => {
    mine.sockets.push(socket);
    return { onText: (text) => void mine.texts.push(text), onClose: () => void mine.ended++ };
  });
}

async function serveAgain(withHub: DialInHub): Promise<void> {
  await http.close();
  await serve(withHub);
}

const address = (integrationId = 'I') => dialInUrl(origin, pepper, integrationId);

async function dial(
  url = address(),
  protocols: string[] = [],
  options: ClientOptions = {},
): Promise<WebSocket> {
  const socket = new WebSocket(url, protocols, options);
  socket.on('error', () => undefined);
  await once(socket, 'open');
  return socket;
}

/** All that is answered to a request for another protocol. */
async function askFor(url: string, protocol = 'websocket'): Promise<string> {
  const { host, port, pathname, search } = new URL(url);
  const socket = connectTcp(Number(port), '127.0.0.1').setEncoding('utf8');
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';
  const connection = protocol === 'websocket' ? 'Upgrade' : 'Upgrade, close';
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${connection}\r\n`);
  socket.write(`Upgrade: ${protocol}\r\n${key}\r\n`);
  let text = '';
  for await (const part of socket) text += part;
  return text;
}

const statusOf = (answer: string): number => Number(answer.split(' ')[1]);

describe('the address', () => {
  it('is a websocket address of the public one, with a token of the integration', () => {
    const url = dialInUrl('https://doors.example', pepper, 'I');
    expect(url).toMatch(/^wss:\/\/doors\.example\/dial-in\/shelly\/I\/[A-Za-z0-9_-]{43}$/);
    expect(dialInUrl('https://doors.example', new Secret('another'), 'I')).not.toBe(url);
    expect(dialInUrl('https://doors.example', pepper, 'J').slice(-43)).not.toBe(url.slice(-43));
  });

  it('lets a device in', async () => {
    const device = await dial();
    device.send('hello');
    await eventually(() => seen.texts.length === 1);
    expect(seen.sockets[0]?.send('welcome')).toBe(true);
    expect(String((await once(device, 'message'))[0])).toBe('welcome');
  });

  it('is answered alike when it is wrong and when nobody waits there', async () => {
    const known = address();
    const wrong = [
      `${known.slice(0, -1)}${known.endsWith('A') ? 'E' : 'A'}`,
      known.slice(0, -1),
      `${known}/`,
      `${known}?x=1`,
      address('J'),
      known.replace('/I/', '/J/'),
      known.replace('shelly', 'other'),
      `${origin}/dial-in/`,
      `${origin}/dial-in/shelly/I/`,
    ];
    const answers = await Promise.all(wrong.map((url) => askFor(url)));
    expect(new Set(answers)).toEqual(
      new Set(['HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n']),
    );
    stop();
    expect(await askFor(known)).toBe(answers[0]);
    expect(seen.sockets).toEqual([]);
  });

  it('does not change how other addresses are answered', async () => {
    const answer = await askFor(`${origin}/page`, 'h2c');
    expect(statusOf(answer)).toBe(200);
    expect(answer).toMatch(/a page$/);
  });
});

describe('a socket', () => {
  it('speaks json-rpc when the device offers it', async () => {
    expect((await dial(address(), ['other', 'json-rpc'])).protocol).toBe('json-rpc');
    expect((await dial()).protocol).toBe('');
  });

  it('ends when a frame is larger than 64 KiB', async () => {
    const device = await dial();
    device.send('x'.repeat(65_536));
    await eventually(() => seen.texts.length === 1);
    device.send('x'.repeat(65_537));
    expect((await once(device, 'close'))[0]).toBe(1009);
    await eventually(() => seen.ended === 1);
    expect(seen.texts).toHaveLength(1);
  });

  it('is one of at most 256 of an integration', async () => {
    expect(dialInLimits.maxSockets).toBe(256);
    await serveAgain(createDialInHub(addressing, { ...dialInLimits, maxSockets: 2 }));
    const first = await dial();
    await dial();
    expect(statusOf(await askFor(address()))).toBe(503);
    first.close();
    await eventually(() => seen.ended === 1);
    await dial();
  });

  it('is dropped when it is silent, and kept while it answers', async () => {
    const accepted: WebSocket[] = [];
    const real = createDialInHub(addressing);
    const take: DialInHub['take'] = (path, socket, raw) => {
      real.take(path, socket, raw);
      accepted.push(socket);
    };
    await serveAgain({ ...real, take });
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const silent = await dial(address(), [], { autoPong: false });
    const dropped = once(silent, 'close');
    const alive = await dial();
    await eventually(() => accepted.length === 2);
    // The next ping waits for the answer to this one, however long a busy machine takes for it.
    for (let pings = 1; pings <= 4; pings++) {
      const answered = once(accepted[1] as WebSocket, 'pong');
      vi.advanceTimersByTime(dialInLimits.pingEveryMs);
      await answered;
    }
    await dropped;
    await eventually(() => seen.ended > 0);
    expect([alive.readyState, seen.ended]).toEqual([WebSocket.OPEN, 1]);
  });

  it('that is reset is closed, and nothing can be sent on it', async () => {
    const device = await dial();
    seen.sockets[0]?.reset();
    await once(device, 'close');
    await eventually(() => seen.ended === 1);
    expect(seen.sockets[0]?.send('late')).toBe(false);
  });

  it('of a device that does not read is reset before it fills the memory', async () => {
    const device = await dial();
    device.pause();
    const frame = 'x'.repeat(60_000);
    await eventually(() => seen.sockets[0]?.send(frame) === false);
    await eventually(() => seen.ended === 1);
  });
});

describe('the end', () => {
  it('of an integration sends its devices away', async () => {
    const device = await dial();
    stop();
    expect((await once(device, 'close'))[0]).toBe(1001);
  });

  it('of the server does not wait for the devices', async () => {
    const device = await dial();
    device.pause();
    await http.close();
    await eventually(() => seen.ended === 1);
    expect(hub.room('shelly/I')).toBe('none');
  });
});

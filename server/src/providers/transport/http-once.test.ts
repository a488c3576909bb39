import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../kernel/clock.ts';
import { type HttpOnceRequest, httpOnce } from './http-once.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listening(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const http = (listener: RequestListener) => listening(createHttpServer(listener));
const tcp = (listener: (socket: Socket) => void) =>
  listening(createTcpServer((socket) => listener(socket.on('error', () => undefined))));

const within = (ms: number): number => systemClock.monotonicMs() + ms;
const ask = (url: string, more: Partial<HttpOnceRequest> = {}) =>
  httpOnce({ method: 'GET', url, clock: systemClock, deadlineMs: within(10_000), ...more });

describe('one request', () => {
  it('carries method, path, query, headers and body and returns status and body', async () => {
    const url = await http((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        const { method, headers } = request;
        response
          .writeHead(418)
          .end(JSON.stringify({ method, path: request.url, body, x: headers['x-a'], host: headers.host }));
      });
    });
    const outcome = await ask(`${url}/p?q=1`, { method: 'POST', body: 'é', headers: { 'x-a': 'b' } });
    expect(outcome).toMatchObject({ kind: 'response', status: 418 });
    expect(outcome.kind === 'response' && JSON.parse(outcome.body)).toEqual({
      method: 'POST',
      path: '/p?q=1',
      body: 'é',
      x: 'b',
      host: new URL(url).host,
    });
  });

  it('uses a connection of its own and closes it', async () => {
    const seen: [number | undefined, string | undefined][] = [];
    const url = await http((request, response) => {
      seen.push([request.socket.remotePort, request.headers.connection]);
      response.end();
    });
    await ask(url);
    await ask(url);
    expect(new Set(seen.map(([port]) => port)).size).toBe(2);
    expect(seen.map(([, connection]) => connection)).toEqual(['close', 'close']);
  });

  it('does not follow a redirect', async () => {
    let calls = 0;
    const url = await http((_, response) => {
      calls += 1;
      response.writeHead(307, { location: '/other' }).end();
    });
    expect(await ask(url)).toMatchObject({ kind: 'response', status: 307 });
    expect(calls).toBe(1);
  });
});

describe('provably not sent', () => {
  it('is a refused connection', async () => {
    const server = createTcpServer();
    const url = await listening(server);
    server.close();
    expect(await ask(url)).toEqual({ kind: 'not_sent', reason: 'no connection (ECONNREFUSED)' });
  });

  it('is a name that does not exist', async () => {
    expect(await ask('http://nowhere.invalid/?key=canary-7')).toMatchObject({
      kind: 'not_sent',
      reason: expect.stringMatching(/^no connection \(E(NOTFOUND|AI_AGAIN)\)$/),
    });
  });

  it('is a failed TLS handshake, and no byte of the request is seen', async () => {
    let received = '';
    const url = await tcp((socket) => {
      socket.on('error', () => {});
      socket.on('data', (data) => {
        received += data.toString('latin1');
        socket.end('HTTP/1.1 400 no\r\n\r\n');
      });
    });
    expect(await ask(`${url.replace('http:', 'https:')}/?key=canary-7`)).toMatchObject({ kind: 'not_sent' });
    expect(received).not.toContain('canary-7');
    expect(received).not.toContain('GET');
  });

  it('is a TLS handshake that never ends', async () => {
    const url = await tcp((socket) => socket.on('error', () => {}));
    expect(await ask(url.replace('http:', 'https:'), { deadlineMs: within(300) })).toEqual({
      kind: 'not_sent',
      reason: 'no connection in time',
    });
  });

  it('is a deadline that has passed, before and after connecting', async () => {
    let received = 0;
    const url = await tcp((socket) => socket.on('data', () => received++));
    const reason = 'the deadline has passed';
    expect(await ask(url, { deadlineMs: within(-1) })).toEqual({
      kind: 'not_sent',
      reason,
    });
    let readings = 0;
    const clock = { ...systemClock, monotonicMs: () => (readings++ === 0 ? 0 : 5000) };
    expect(await ask(url, { clock, deadlineMs: 5000 })).toEqual({ kind: 'not_sent', reason });
    expect(received).toBe(0);
  });

  it('is an abort before sending, an unusable address and an unusable header', async () => {
    const url = await http((_, response) => response.end());
    expect(await ask(url, { signal: AbortSignal.abort() })).toMatchObject({ kind: 'not_sent' });
    expect(await ask('ftp://canary-7/')).toEqual({ kind: 'not_sent', reason: 'the address is not usable' });
    const outcome = await ask(url, { headers: { 'x-token': 'canary-7\n' } });
    expect(outcome).toEqual({
      kind: 'not_sent',
      reason: 'the request cannot be written (ERR_INVALID_CHAR)',
    });
  });
});

describe('unknown', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['a reset', (socket) => socket.resetAndDestroy()],
    ['a close without an answer', (socket) => socket.end()],
    ['an answer that is cut off', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab')],
    ['an answer that is no HTTP', (socket) => socket.end('canary-7 hello\r\n\r\n')],
    [
      'an answer that is too large',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1_048_577)}`),
    ],
  ])('is %s after the request was written', async (_, reply) => {
    let requests = 0;
    const url = await tcp((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        requests += 1;
        reply(socket);
      });
    });
    const outcome = await ask(`${url}/?key=canary-7`);
    expect(outcome.kind).toBe('unknown');
    expect(JSON.stringify(outcome)).not.toContain('canary-7');
    expect(requests).toBe(1);
  });

  it('is taken back: what is still on its way is dropped, not delivered later', async () => {
    const ends: string[] = [];
    const url = await tcp((socket) => {
      socket.on('data', () => undefined);
      socket.on('end', () => ends.push('end'));
      socket.on('error', (error: NodeJS.ErrnoException) => ends.push(error.code ?? ''));
    });
    expect(await ask(url, { deadlineMs: within(2_000) })).toMatchObject({ kind: 'unknown' });
    await vi.waitFor(() => expect(ends).toEqual(['ECONNRESET']), { timeout: 10_000 });
  });

  it('is silence until the deadline', async () => {
    const url = await tcp((socket) => socket.on('error', () => {}));
    expect(await ask(url, { deadlineMs: within(2_000) })).toEqual({
      kind: 'unknown',
      reason: 'no answer in time',
    });
  });

  it('is an abort after the request was written, and the connection is closed', async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const url = await tcp((socket) => {
      socket.on('error', () => {}).on('close', () => closed.resolve());
      socket.once('data', () => controller.abort());
    });
    expect(await ask(url, { signal: controller.signal })).toMatchObject({ kind: 'unknown' });
    await closed.promise;
  });
});

import { connect, type Socket } from 'node:net';
import type { TestApp } from './test-app.ts';

export interface SocketAnswer {
  readonly status: number;
  readonly body: string;
}

export interface Listening {
  readonly port: number;
  /** Writes the text as it is, in pieces, and reads until the server is done with the connection. */
  exchange(pieces: readonly string[], options?: { pauseMs?: number }): Promise<SocketAnswer>;
}

/**
 * The app on a real port, with the patience of its server cut to what a test can wait for. The limits themselves are
 * the server's own; Node looks at them at the given interval.
 */
export async function listen(
  app: TestApp,
  patience?: { timeoutMs: number; lookEveryMs: number },
): Promise<Listening> {
  const { server } = app.app.http;
  if (patience !== undefined) {
    server.headersTimeout = patience.timeoutMs;
    server.requestTimeout = patience.timeoutMs;
    Reflect.set(server, 'connectionsCheckingInterval', patience.lookEveryMs);
  }
  const address = await app.app.http.listen({ port: 0, host: '127.0.0.1' });
  const port = Number(new URL(address).port);
  return { port, exchange: (pieces, options = {}) => exchange(port, pieces, options.pauseMs ?? 0) };
}

async function exchange(port: number, pieces: readonly string[], pauseMs: number): Promise<SocketAnswer> {
  const socket = connect({ port, host: '127.0.0.1' });
  const answer = read(socket);
  for (const piece of pieces) {
    if (!socket.destroyed) socket.write(piece, 'latin1');
    if (pauseMs > 0) await new Promise((resume) => setTimeout(resume, pauseMs));
  }
  return answer;
}

function read(socket: Socket): Promise<SocketAnswer> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (data) => {
      text += data.toString('latin1');
    });
    // A server that refuses may reset what it did not read; what it said before counts.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const [head = '', body = ''] = text.split('\r\n\r\n');
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), body: body.trim() });
    });
  });
}

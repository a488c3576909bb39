import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems give to outgoing connections and to whoever listens on 0. */
const [first, beyond] = [15_000, 30_000];

/**
 * A port of TCP and UDP that nobody uses at this moment, and that stays free for a server which is stopped and started
 * again.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(first, beyond);
    if ((await isFree(port)) && (await isFreeOfUdp(port))) return port;
  }
  throw new Error('no port is free');
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

async function isFreeOfUdp(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  try {
    await once(socket.bind(port, '127.0.0.1'), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    socket.close();
  }
}

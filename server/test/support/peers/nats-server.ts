import { freePort } from './free-port.ts';
import { startPeerProcess } from './peer-process.ts';

/** The real server, as a child of the test. */
export interface NatsServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function startNatsServer(): Promise<NatsServer> {
  const port = await freePort();
  const server = startPeerProcess('/usr/sbin/nats-server', ['-a', '127.0.0.1', '-p', String(port)]);
  await server.line(/Server is ready/);
  return { url: `nats://127.0.0.1:${port}`, close: () => server.stop() };
}

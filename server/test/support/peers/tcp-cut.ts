import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A wire that can be cut between a client and its peer. `requests` swallows what the client says, `replies` what the
 * peer says; both look like a connection that stands.
 */
export type CutMode = 'none' | 'requests' | 'replies';

export interface TcpCut {
  readonly port: number;
  cut(mode: CutMode): void;
  /** Drops every connection there is. */
  drop(): void;
  readonly connections: () => number;
  /** Drops everything and listens no more, until open. */
  close(): Promise<void>;
  open(): Promise<void>;
}

export async function startTcpCut(targetPort: number): Promise<TcpCut> {
  let mode: CutMode = 'none';
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const peer = keep(connect(targetPort, '127.0.0.1'));
    keep(client).on('data', (chunk) => void (mode !== 'requests' && peer.write(chunk)));
    peer.on('data', (chunk) => void (mode !== 'replies' && client.write(chunk)));
    client.on('close', () => peer.destroy());
    peer.on('close', () => client.destroy());
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    cut: (wanted) => {
      mode = wanted;
    },
    drop,
    connections: () => sockets.size / 2,
    open: () => listen(port),
    close: async () => {
      if (!server.listening) return;
      server.close();
      drop();
      await once(server, 'close');
    },
  };
}

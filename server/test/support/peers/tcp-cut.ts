import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { freePort } from './free-port.ts';

/**
 * A wire that can be cut between a client and its peer. `requests` swallows what the client says, `replies` what the
 * peer says; both look like a connection that stands. `hold` is a network that stalls: nothing gets through, and all of
 * it arrives when the wire is whole again, as from the send buffer of a kernel. A client that closes its end does not
 * change that; one that resets it takes back what was held.
 */
export type CutMode = 'none' | 'requests' | 'replies' | 'hold';

export interface TcpCut {
  readonly port: number;
  cut(mode: CutMode): void;
  /** Drops every connection there is. */
  drop(): void;
  readonly connections: () => number;
  /** How many connections are over, with all that was held of them. */
  readonly ended: () => number;
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
  const holding = new Set<(() => void)[]>();
  let ended = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const peer = keep(connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true }));
    const held: (() => void)[] = [];
    holding.add(held);
    const pass = (step: () => void): void => void (mode === 'hold' ? held.push(step) : step());
    const carry = (from: Socket, to: Socket, swallowing: CutMode): void => {
      from.on('data', (chunk) => void (mode !== swallowing && pass(() => to.write(chunk))));
      from.on('end', () => pass(() => to.end()));
      from.on('close', () => {
        if (holding.delete(held)) ended += 1;
        to.destroy();
      });
    };
    carry(keep(client), peer, 'requests');
    carry(peer, client, 'replies');
  });
  const port = await freePort();
  const open = async (): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await open();
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    cut: (wanted) => {
      mode = wanted;
      if (mode !== 'hold') for (const held of holding) for (const step of held.splice(0)) step();
    },
    drop,
    connections: () => sockets.size / 2,
    ended: () => ended,
    open,
    close: async () => {
      if (!server.listening) return;
      server.close();
      drop();
      await once(server, 'close');
    },
  };
}

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * pass        nothing is wrong
 * refuse      connections are reset as soon as they are made; those that stand are reset too
 * black hole  connections are taken and stand, and nothing comes through in either direction
 */
export type CutMode = 'pass' | 'refuse' | 'black hole';

/** What happens to one chunk of one direction. Cut: both ends are reset, after or without passing the chunk on. */
export type Fate = 'pass' | 'swallow' | 'pass, then cut' | 'cut';

export interface CutOptions {
  /** Where it leads now; a peer may come back elsewhere. */
  readonly target: () => number;
  /** Asked for every chunk of a client. `bytes` counts those of the connection so far, this chunk included. */
  readonly onRequest?: (chunk: Buffer, bytes: number) => Fate;
  readonly onReply?: (chunk: Buffer) => Fate;
  readonly delayMs?: () => number;
  /** Any free one unless given. */
  readonly port?: number;
}

/** CUT: a wire between a client and its peer on this machine, which can break in every way a wire breaks. */
export interface Cut {
  readonly port: number;
  mode(mode: CutMode): void;
  /** Resets every connection there is. */
  drop(): number;
  close(): Promise<void>;
}

export async function startCut(options: CutOptions): Promise<Cut> {
  let mode: CutMode = 'pass';
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const carry = (from: Socket, to: Socket, fateOf: (chunk: Buffer) => Fate): void => {
    from.on('data', (chunk) => {
      const fate = mode === 'black hole' ? 'swallow' : fateOf(chunk);
      const wait = options.delayMs?.() ?? 0;
      const write = (): void => void ((fate === 'pass' || fate === 'pass, then cut') && to.write(chunk));
      if (wait > 0) setTimeout(write, wait);
      else write();
      if (fate === 'pass, then cut' || fate === 'cut') sever(from, to, fate === 'cut');
    });
  };
  const server = createServer((client) => {
    if (mode === 'refuse') return void client.resetAndDestroy();
    // The address of the client's choice: one port may stand for many devices.
    const host = client.localAddress?.replace(/^::ffff:/, '') ?? '127.0.0.1';
    const peer = keep(connect({ port: options.target(), host }));
    let bytes = 0;
    carry(keep(client), peer, (chunk) => {
      bytes += chunk.length;
      return options.onRequest?.(chunk, bytes) ?? 'pass';
    });
    carry(peer, client, (chunk) => options.onReply?.(chunk) ?? 'pass');
    client.on('close', () => peer.destroy());
    peer.on('close', () => client.destroy());
  });
  server.listen(options.port ?? 0, '0.0.0.0');
  await once(server, 'listening');
  const drop = (): number => {
    const count = sockets.size;
    for (const socket of sockets) socket.resetAndDestroy();
    return count / 2;
  };
  return {
    port: (server.address() as AddressInfo).port,
    mode(wanted) {
      mode = wanted;
      if (wanted === 'refuse') drop();
    },
    drop,
    close: async () => {
      server.close();
      drop();
      if (server.listening) await once(server, 'close');
    },
  };
}

/** The sender learns nothing more. What was passed on leaves first: a reset at once would throw it away. */
function sever(from: Socket, to: Socket, atOnce: boolean): void {
  from.removeAllListeners('data').resetAndDestroy();
  to.removeAllListeners('data').resume();
  if (atOnce) to.resetAndDestroy();
  else to.end();
}

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { freePort } from './free-port.ts';

/** The wire of tcp-cut for datagrams: what is cut is swallowed, in one direction. */
export interface UdpCut {
  readonly port: number;
  cut(mode: 'none' | 'replies'): void;
  /** Nobody listens any more, until open. */
  close(): Promise<void>;
  open(): Promise<void>;
}

export async function startUdpCut(targetPort: number): Promise<UdpCut> {
  const port = await freePort();
  let mode: 'none' | 'replies' = 'none';
  let entrance: Socket | null = null;
  /** By the port a client sends from: the far side tells its clients apart by theirs. */
  const exits = new Map<number, Socket>();

  function exitFor(clientPort: number): Socket {
    const known = exits.get(clientPort);
    if (known !== undefined) return known;
    const exit = createSocket('udp4').on('error', () => undefined);
    exit.on('message', (bytes) => void (mode === 'none' && entrance?.send(bytes, clientPort, '127.0.0.1')));
    exits.set(clientPort, exit);
    return exit;
  }
  async function open(): Promise<void> {
    const socket = createSocket('udp4').on('error', () => undefined);
    socket.on('message', (bytes, from) => exitFor(from.port).send(bytes, targetPort, '127.0.0.1'));
    socket.bind(port, '127.0.0.1');
    await once(socket, 'listening');
    entrance = socket;
  }
  await open();
  return {
    port,
    cut: (wanted) => {
      mode = wanted;
    },
    open,
    async close() {
      for (const exit of exits.values()) exit.close();
      exits.clear();
      const gone = entrance;
      entrance = null;
      gone?.close();
    },
  };
}

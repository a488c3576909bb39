import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { deviceLookup } from './device-address.ts';

export interface ResettingSocket {
  readonly stream: Socket;
  /** Drops the connection with what still waits to be sent. */
  reset(): void;
}

export interface SocketTarget {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly caCertificate?: string | undefined;
}

/**
 * INVARIANT: whoever destroys it, nothing leaves any more. After a plain close the kernel goes on sending what a
 * stalled network has not taken, for minutes: a command would arrive when the network is back. Only a reset throws it
 * away. To end in peace, end() the stream.
 */
export function openResettingSocket({ host, port, tls, caCertificate }: SocketTarget): ResettingSocket {
  const tcp = connectTcp({ host, port, noDelay: true, lookup: deviceLookup });
  const reset = resetWhenDestroyed(tcp);
  if (!tls) return { stream: tcp, reset };
  const stream = connectTls({
    socket: tcp,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(caCertificate === undefined ? {} : { ca: caCertificate }),
  });
  tcp.on('error', (error) => stream.destroy(error));
  return { stream, reset };
}

/** A socket that is destroyed with an error has failed already, and one that still connects has sent nothing. */
function resetWhenDestroyed(tcp: Socket): () => void {
  const destroy = tcp.destroy.bind(tcp);
  const reset = (): void => {
    tcp.destroy = destroy;
    if (tcp.connecting) tcp.destroy();
    else tcp.resetAndDestroy();
  };
  tcp.destroy = (error) => {
    if (error === undefined && !tcp.destroyed) reset();
    else destroy(error);
    return tcp;
  };
  return reset;
}

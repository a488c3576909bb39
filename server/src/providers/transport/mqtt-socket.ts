import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { deviceLookup } from './device-address.ts';
import type { BrokerSettings } from './mqtt-broker.ts';

export interface BrokerSocket {
  readonly stream: Socket;
  /** Drops the connection with what still waits to be sent: a command left in a buffer must not leave later. */
  reset(): void;
}

export function openBrokerSocket({ host, port, tls, caCertificate }: BrokerSettings): BrokerSocket {
  const tcp = connectTcp({ host, port, noDelay: true, lookup: deviceLookup });
  const reset = (): void => {
    tcp.resetAndDestroy();
  };
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

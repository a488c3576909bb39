import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { exactText } from '../../src/exact-json.ts';

export interface TwinRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** A status and a body, or the end of the connection without an answer. */
export type TwinAnswer = readonly [status: number, body: unknown] | 'hang up';

export interface TwinService {
  readonly url: string;
  readonly token: string;
  readonly requests: TwinRequest[];
  close(): Promise<void>;
}

/** Answers as it is told, for what the real service does only by chance: breaking off, faults, strange data. */
export async function startTwin(answer: (request: TwinRequest) => TwinAnswer): Promise<TwinService> {
  const requests: TwinRequest[] = [];
  const server: Server = createServer((incoming, outgoing) => {
    void readRequest(incoming).then((request) => {
      requests.push(request);
      const given = answer(request);
      if (given === 'hang up') return incoming.socket.destroy();
      outgoing.writeHead(given[0], { 'content-type': 'application/json' });
      return outgoing.end(given[1] === undefined ? '' : exactText(given[1]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    token: `${url}/api/v1_acme_${'s'.repeat(43)}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<TwinRequest> {
  const { method = '', url = '', headers } = incoming;
  const body: unknown = await json(incoming).catch(() => undefined);
  return { method, path: url.replace('/api/v1', ''), headers, body };
}

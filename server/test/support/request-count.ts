import type { FastifyInstance } from 'fastify';

/** How many requests an app was sent, for the tables that say how much was tried. */
export interface RequestCount {
  readonly onHttp: (http: FastifyInstance) => void;
  readonly value: () => number;
}

export function createRequestCount(): RequestCount {
  let count = 0;
  return {
    onHttp: (http) => {
      http.addHook('onRequest', async () => {
        count += 1;
      });
    },
    value: () => count,
  };
}

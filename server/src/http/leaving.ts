import type { FastifyInstance } from 'fastify';

export interface Leaving {
  isLeaving(): boolean;
  /** From now on this node is not ready, and no answer keeps its connection alive. */
  begin(): void;
}

/**
 * Between the request to stop and the end of listening. A balancer needs a moment to learn that a node is going; what it
 * sends until then is served. A connection that was kept alive would be cut with the next request on it already written.
 */
export function createLeaving(http: FastifyInstance): Leaving {
  let leaving = false;
  http.addHook('onSend', async (_request, reply) => {
    if (leaving) reply.header('connection', 'close');
  });
  return {
    isLeaving: () => leaving,
    begin: () => {
      leaving = true;
    },
  };
}

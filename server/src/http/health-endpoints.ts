import type { FastifyInstance } from 'fastify';
import type { Readiness } from '../features/status/readiness.service.ts';

/** For whoever runs the process: /healthz says it lives, /readyz whether it should get requests. */
export function addHealthEndpoints(app: FastifyInstance, readiness: Readiness): void {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const reasons = await readiness.problems();
    if (reasons.length === 0) return { status: 'ready' };
    return reply.code(503).send({ status: 'not_ready', reasons });
  });
}

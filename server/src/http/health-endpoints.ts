import type { FastifyInstance } from 'fastify';
import type { Leases } from '../cluster/leases.ts';
import type { Readiness } from '../features/status/readiness.service.ts';
import type { Leaving } from './leaving.ts';

/** For whoever runs the process: /healthz says it lives, /readyz whether it should get requests. */
export function addHealthEndpoints(
  app: FastifyInstance,
  readiness: Readiness,
  leases: Pick<Leases, 'nodeId' | 'held'>,
  leaving: Pick<Leaving, 'isLeaving'>,
): void {
  app.get('/healthz', async () => ({ status: 'ok', node_id: leases.nodeId, leases: leases.held() }));
  app.get('/readyz', async (_request, reply) => {
    const reasons = leaving.isLeaving() ? ['this node is leaving'] : await readiness.problems();
    if (reasons.length === 0) return { status: 'ready' };
    return reply.code(503).send({ status: 'not_ready', reasons });
  });
}

import { once } from 'node:events';
import type { Server } from 'node:http';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Leases } from './cluster/leases.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { migrationVersions } from './db/migrate.ts';
import { createReadiness } from './features/status/readiness.service.ts';
import { addHealthEndpoints } from './http/health-endpoints.ts';
import type { Leaving } from './http/leaving.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import { addMetricsEndpoint, createMetricsServer } from './http/metrics-endpoint.ts';
import { addReferenceRoutes } from './http/reference-routes.ts';
import { serveWeb } from './http/static-web.ts';
import type { Clock } from './kernel/clock.ts';
import { version } from './version.ts';

export interface EdgeParts {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly leases: Pick<Leases, 'nodeId' | 'held'>;
  readonly leaving: Leaving;
}

export interface Edge {
  readonly metrics: Metrics;
  listen(): Promise<void>;
  close(): Promise<void>;
}

const webDist = join(import.meta.dirname, '..', '..', 'web', 'dist');

/** What is served beside the operations: health, metrics, the reference and the pages. */
export function composeEdge(http: FastifyInstance, { config, db, clock, leases, leaving }: EdgeParts): Edge {
  const { publicUrl, brand, host, port, metricsPort, metricsToken: token } = config;
  const metrics = createMetrics({
    exposed: metricsPort !== null || token !== null,
    connections: () => db.connections(),
    leases,
  });
  const { registry } = metrics;
  metrics.observe(http);
  addHealthEndpoints(http, createReadiness({ db, clock, migrationVersions }), leases, leaving);
  addReferenceRoutes(http, { publicUrl, version, brand });
  serveWeb(http, webDist);
  if (metricsPort === null) addMetricsEndpoint(http, { registry, token });
  const metricsServer = metricsPort === null ? null : createMetricsServer({ registry, token });
  return {
    metrics,
    listen: async () => {
      await http.listen({ host, port });
      if (metricsServer !== null && metricsPort !== null) await listen(metricsServer, host, metricsPort);
    },
    close: async () => {
      await http.close();
      metricsServer?.close();
      metricsServer?.closeAllConnections();
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port });
  await once(server, 'listening');
}

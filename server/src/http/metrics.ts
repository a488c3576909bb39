import type { OperationSpec } from '@lintel/contract/operation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Leases } from '../cluster/leases.ts';
import type { ConnectionCounts } from '../db/database.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: OperationSpec;
  }
}

export interface MetricsOptions {
  /** Whether anybody can read them. When nobody can, nothing is measured. */
  readonly exposed: boolean;
  readonly connections: () => ConnectionCounts;
  readonly leases: Pick<Leases, 'nodeId' | 'held'>;
}

export interface Metrics {
  /** Other parts add their own measures here. */
  readonly registry: Registry;
  observe(app: FastifyInstance): void;
}

const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createMetrics({ exposed, connections, leases }: MetricsOptions): Metrics {
  const registry = new Registry();
  if (!exposed) return { registry, observe: () => undefined };
  collectDefaultMetrics({ register: registry });
  addConnectionGauge(registry, connections);
  addLeaseGauge(registry, leases);
  return { registry, observe: (app) => observeRequests(app, registry) };
}

function observeRequests(app: FastifyInstance, registry: Registry): void {
  const duration = new Histogram({
    name: 'lintel_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer.',
    labelNames: ['operation', 'status_class'],
    buckets: durationBuckets,
    registers: [registry],
  });
  app.addHook('onResponse', async (request, reply) => {
    const statusClass = `${Math.floor(reply.statusCode / 100)}xx`;
    duration.observe(
      { operation: operationOf(request), status_class: statusClass },
      reply.elapsedTime / 1000,
    );
  });
}

/** A closed set: an address that a stranger made up must not become a series of its own. */
function operationOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.config.operation?.id ?? routeOptions.url ?? 'none';
}

function addConnectionGauge(registry: Registry, connections: () => ConnectionCounts): void {
  new Gauge({
    name: 'lintel_database_connections',
    help: 'Connections of the pool, and requests that wait for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(connections())) this.set({ state }, count);
    },
  });
}

function addLeaseGauge(registry: Registry, leases: MetricsOptions['leases']): void {
  new Gauge({
    name: 'lintel_connection_leases',
    help: 'Connections to integrations that this node holds the lease of.',
    labelNames: ['node_id'],
    registers: [registry],
    collect() {
      this.set({ node_id: leases.nodeId }, leases.held());
    },
  });
}

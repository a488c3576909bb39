import { createServer, type Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { AppError } from '../kernel/app-error.ts';
import { equalInConstantTime, type Secret, sha256 } from '../kernel/secret.ts';

export interface MetricsExposure {
  readonly registry: Registry;
  readonly token: Secret | null;
}

/** On the public port only with a token: load, operations and versions are nobody else's business. */
export function addMetricsEndpoint(app: FastifyInstance, { registry, token }: MetricsExposure): void {
  if (token === null) return;
  app.get('/metrics', async (request, reply) => {
    if (!mayRead(token, request.headers.authorization)) {
      throw new AppError('unauthorized', 'the metrics token is required');
    }
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

/** A port of its own, which the operator keeps off the public network; a token, when there is one, counts here too. */
export function createMetricsServer({ registry, token }: MetricsExposure): Server {
  return createServer((request, response) => {
    if (request.url !== '/metrics' || request.method !== 'GET') return void response.writeHead(404).end();
    if (token !== null && !mayRead(token, request.headers.authorization)) {
      return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
}

function mayRead(token: Secret, authorization: string | undefined): boolean {
  const presented = /^bearer +(.+)$/i.exec(authorization?.trim() ?? '')?.[1] ?? '';
  return equalInConstantTime(sha256(presented), sha256(token.reveal()));
}

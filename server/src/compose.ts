import type { FastifyInstance } from 'fastify';
import { recordEvent } from './audit/audit.store.ts';
import { createCredentials } from './auth/credentials.ts';
import type { TokenFormat } from './auth/token.rules.ts';
import { composeHandlers } from './compose-handlers.ts';
import type { Config } from './config.ts';
import { createDatabase, type Database } from './db/database.ts';
import { createEngine } from './engine/engine.ts';
import { createProviders } from './engine/providers.ts';
import { createAuthenticate, type SessionReader } from './http/authenticate.ts';
import { bindOperations } from './http/bind-operations.ts';
import { createDenialRecorder } from './http/denials.ts';
import { createHttpServer } from './http/server.ts';
import { actorOf } from './kernel/call.ts';
import type { Clock } from './kernel/clock.ts';
import type { Handlers } from './kernel/handler.ts';
import type { Logger } from './kernel/logger.ts';
import type { Secret } from './kernel/secret.ts';
import { providerDefinitions } from './providers/registry.ts';

export interface ComposeOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly pepper: Secret;
  readonly rootOrgId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For tests that look at the routes as they are bound, or put a faulty handler in place of a real one. */
  readonly onHttp?: (http: FastifyInstance) => void;
  readonly wrapHandlers?: (handlers: Handlers) => Handlers;
}

export interface App {
  readonly http: FastifyInstance;
  readonly db: Database;
  /** Recovers what a lost node left behind, then takes up the devices. Before it, nothing is served. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** The only object graph: everything is made here once and handed to those who need it. */
export function compose(options: ComposeOptions): App {
  const { config, clock, logger, pepper, rootOrgId } = options;
  const apiBase = `${config.publicUrl}/api/v1`;
  const tokenFormat: TokenFormat = { apiBase, brand: config.brand };
  const db = createDatabase({
    url: options.databaseUrl,
    maxConnections: config.databaseConnections,
    onError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  });
  const credentials = createCredentials({ db, pepper, tokenFormat, clock });
  const providers = createProviders({
    db,
    clock,
    logger,
    dataDir: config.dataDir,
    definitions: providerDefinitions,
  });
  const engine = createEngine({ db, clock, logger, providers });
  const sessions: SessionReader = { read: async () => null };
  const handlers = composeHandlers({
    config,
    db,
    clock,
    pepper,
    rootOrgId,
    credentials,
    tokenFormat,
    engine,
    providers,
  });

  const http = createHttpServer({
    logger,
    https: config.publicUrl.startsWith('https:'),
    trustProxy: config.trustProxy,
    bodyLimitBytes: 1_048_576,
  });
  options.onHttp?.(http);
  const authenticate = createAuthenticate({
    credentials,
    sessions,
    publicOrigin: config.publicUrl,
    onRejectedKey: async (request, principal, reason) => {
      const orgId = principal.kind === 'user' ? rootOrgId : principal.org.id;
      const origin = { actor: actorOf(principal), source: 'api', correlationId: request.id } as const;
      await db.inOrg(orgId, (tx) =>
        recordEvent(tx, origin, { orgId, type: 'api_key.rejected', outcome: 'denied', details: { reason } }),
      );
    },
  });
  bindOperations(http, {
    handlers: options.wrapHandlers?.(handlers) ?? handlers,
    authenticate,
    credentials,
    denials: createDenialRecorder(db, rootOrgId),
    confirmHeader: `x-${config.brand}-confirm`,
  });
  return {
    http,
    db,
    start: () => engine.start(),
    close: async () => {
      await http.close();
      await engine.stop();
      await credentials.flushUses();
      await db.close();
    },
  };
}

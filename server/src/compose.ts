import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { recordEvent } from './audit/audit.store.ts';
import { createAuditPartitions } from './audit/audit-partitions.ts';
import { createCredentials } from './auth/credentials.ts';
import type { TokenFormat } from './auth/token.rules.ts';
import type { Cluster } from './cluster/cluster.ts';
import { addClusterRoutes, announcing, composeCluster, leaveCluster } from './compose-cluster.ts';
import { composeEdge } from './compose-edge.ts';
import { composeHandlers } from './compose-handlers.ts';
import { composeIdentity } from './compose-identity.ts';
import { composeImages } from './compose-images.ts';
import { composeRetention } from './compose-retention.ts';
import { composeScripting } from './compose-scripting.ts';
import type { Config } from './config.ts';
import { createDatabase, type Database } from './db/database.ts';
import { createEngine, type EngineDeps } from './engine/engine.ts';
import { createProviders } from './engine/providers.ts';
import { type AuthenticateDeps, createAuthenticate } from './http/authenticate.ts';
import { bindOperations } from './http/bind-operations.ts';
import { createDenialRecorder } from './http/denials.ts';
import { addIdentityRoutes } from './http/identity-routes.ts';
import { createLeaving } from './http/leaving.ts';
import { createHttpServer } from './http/server.ts';
import type { ExpiredRecords } from './jobs/expired-records.ts';
import { actorOf } from './kernel/call.ts';
import type { Clock } from './kernel/clock.ts';
import type { Handlers } from './kernel/handler.ts';
import type { Logger } from './kernel/logger.ts';
import type { Secret } from './kernel/secret.ts';
import type { ProviderDefinition } from './providers/provider.ts';
import { providerDefinitions } from './providers/registry.ts';
import { createDialInHub } from './providers/transport/dial-in.ts';
import type { Keyring } from './secrets/keyring.ts';
import { createSecretStore } from './secrets/secret-store.ts';

export interface ComposeOptions {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly pepper: Secret;
  readonly keyring: Keyring;
  readonly rootOrgId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For tests that look at the routes as they are bound, or put a faulty handler in place of a real one. */
  readonly onHttp?: (http: FastifyInstance) => void;
  readonly wrapHandlers?: (handlers: Handlers) => Handlers;
  /** Those of the registry unless a test brings its own. */
  readonly providerDefinitions?: ReadonlyMap<string, ProviderDefinition>;
  /** For tests that can not wait for a lease of the usual length, or look whether a node without one is noticed. */
  readonly leaseMs?: number;
  readonly wrapCluster?: (cluster: Cluster) => Cluster;
  /** For tests on a machine that may be busier than any that opens doors. */
  readonly databaseAnswerMs?: number;
  /** For tests that end the process, or let it err, between the steps of an open. */
  readonly wrapEngine?: (deps: EngineDeps) => EngineDeps;
}

export interface App {
  readonly http: FastifyInstance;
  readonly db: Database;
  /** Recovers what a lost node left behind, then takes up the devices. Before it, nothing is served. */
  start(): Promise<void>;
  /** Before the end, while it still serves: hands over to the other nodes, when there are any. */
  leave(): Promise<void>;
  /** On the configured ports. */
  listen(): Promise<void>;
  close(): Promise<void>;
}

/** The only object graph: everything is made here once and handed to those who need it. */
export function compose(options: ComposeOptions): App {
  const { config, clock, rootOrgId } = options;
  const parts = composeParts(options, () => http.server.address());
  const { db, cluster, credentials, engine, identity } = parts;
  const images = composeImages({ ...options, ...parts });
  const scripting = composeScripting({ ...options, ...parts }, () => handlers);
  const silent = composeHandlers({ ...options, ...parts, images: images.service, scripting });
  const handlers: Handlers = announcing(silent, cluster.wakeUps.changed);
  const retention = composeRetention({ ...options, ...parts }, handlers);
  const http = createHttpServer({
    logger: options.logger,
    https: config.publicUrl.startsWith('https:'),
    trustProxy: config.trustProxy,
    bodyLimitBytes: 1_048_576,
  });
  const leaving = createLeaving(http);
  options.onHttp?.(http);
  const authenticate = createAuthenticate({
    credentials,
    sessions: identity.sessions,
    provision: identity.provisioning.provision,
    publicOrigin: config.publicUrl,
    onRejectedKey: recordRejectedKey(db, rootOrgId),
  });
  bindOperations(http, {
    handlers: options.wrapHandlers?.(handlers) ?? handlers,
    authenticate,
    credentials,
    denials: createDenialRecorder(db, rootOrgId),
    confirmHeader: `x-${config.brand}-confirm`,
  });
  if (identity.builtin !== null) {
    addIdentityRoutes(http, { provider: identity.builtin, publicOrigin: config.publicUrl });
  }
  addClusterRoutes(http, { cluster, hub: parts.dialIn, pepper: options.pepper });
  images.addRoute(http);
  const life = lifeOf(parts, images, retention);
  const edge = composeEdge(http, { config, db, clock, leases: cluster.leases, leaving });
  return {
    http,
    db,
    start: life.start,
    leave: () => leaveCluster({ config, engine, leases: cluster.leases, leaving }),
    listen: () => edge.listen(),
    close: async () => {
      await scripting.stop();
      await edge.close();
      await life.stop();
    },
  };
}

/** What works by itself, begun in the order in which one needs the other. */
function lifeOf(
  { db, secrets, credentials, engine, partitions, identity }: ReturnType<typeof composeParts>,
  images: ReturnType<typeof composeImages>,
  retention: ExpiredRecords,
) {
  return {
    start: async () => {
      await partitions.start();
      await secrets.start();
      // Before a device is taken up: it fails where the settings can not work.
      await images.start();
      await engine.start();
      identity.start();
      credentials.start();
      retention.start();
    },
    stop: async () => {
      await identity.stop();
      await retention.stop();
      await images.stop();
      await engine.stop();
      await partitions.stop();
      await credentials.stop();
      await secrets.close();
      await db.close();
    },
  };
}

/** Everything below HTTP and the features. */
function composeParts(options: ComposeOptions, listening: () => AddressInfo | string | null) {
  const { config, databaseUrl, clock, logger, pepper } = options;
  const tokenFormat: TokenFormat = { apiBase: `${config.publicUrl}/api/v1`, brand: config.brand };
  const db = createDatabase({
    url: databaseUrl,
    maxConnections: config.databaseConnections,
    answerWithinMs: options.databaseAnswerMs,
    onError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
  });
  const secrets = composeSecrets(options);
  const definitions = options.providerDefinitions ?? providerDefinitions;
  const dialIn = createDialInHub({ publicUrl: config.publicUrl, pepper });
  const cluster = composeCluster(options, { db, listening });
  const providers = createProviders({
    db,
    clock,
    logger,
    dataDir: config.dataDir,
    definitions,
    secretsOf: secrets.store.read,
    dialIn,
    leases: cluster.leases,
  });
  return {
    db,
    secrets,
    cluster,
    tokenFormat,
    providers,
    providerTypes: [...definitions.keys()],
    dialIn,
    identity: composeIdentity({ ...options, db }),
    credentials: createCredentials({ db, pepper, tokenFormat, clock, logger }),
    engine: createEngine({ db, clock, logger, providers, cluster, wrap: options.wrapEngine }),
    partitions: createAuditPartitions(db, logger),
  };
}

/** A few connections of their own, under the role that sees secrets and nothing else. */
function composeSecrets({ databaseUrl, databaseAnswerMs, keyring, logger }: ComposeOptions) {
  const db = createDatabase({
    url: databaseUrl,
    maxConnections: 2,
    answerWithinMs: databaseAnswerMs,
    role: 'lintel_secrets',
    onError: (error) => logger.warn({ err: error }, 'an idle connection to the secrets broke'),
  });
  const store = createSecretStore({ db, keyring });
  return { store, start: () => store.rotateKek(), close: () => db.close() };
}

function recordRejectedKey(db: Database, rootOrgId: string): AuthenticateDeps['onRejectedKey'] {
  return async (request, principal, reason) => {
    const orgId = principal.kind === 'user' ? rootOrgId : principal.org.id;
    const origin = { actor: actorOf(principal), source: 'api', correlationId: request.id } as const;
    await db.inOrg(orgId, (tx) =>
      recordEvent(tx, origin, { orgId, type: 'api_key.rejected', outcome: 'denied', details: { reason } }),
    );
  };
}

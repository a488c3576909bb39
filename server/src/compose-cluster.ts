import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { operationById } from '@lintel/contract/operations';
import type { FastifyInstance } from 'fastify';
import { type Cluster, createCluster } from './cluster/cluster.ts';
import type { Leases } from './cluster/leases.ts';
import type { ComposeOptions } from './compose.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { Engine } from './engine/engine.ts';
import { addDialInRoute } from './http/dial-in-route.ts';
import type { Leaving } from './http/leaving.ts';
import { addNodeRoute } from './http/node-route.ts';
import type { Handlers } from './kernel/handler.ts';
import type { Secret } from './kernel/secret.ts';
import type { DialInHub } from './providers/transport/dial-in.ts';

/** At least three times the deadline of a command: what a node that stood still had begun is over before another takes up. */
const leaseMs = 15_000;

export interface ClusterParts {
  readonly db: Database;
  /** Where the service listens; null while it does not. */
  readonly listening: () => AddressInfo | string | null;
}

export function composeCluster(options: ComposeOptions, { db, listening }: ClusterParts): Cluster {
  const { config, databaseUrl, clock, logger, pepper } = options;
  const cluster = createCluster({
    db,
    databaseUrl,
    clock,
    logger,
    pepper,
    secret: config.clusterSecret,
    address: () => nodeAddress(config, listening()),
    leaseMs: options.leaseMs ?? leaseMs,
    natsUrl: config.natsUrl,
  });
  return options.wrapCluster?.(cluster) ?? cluster;
}

function nodeAddress({ nodeUrl, host, port }: Config, listening: AddressInfo | string | null): string {
  if (nodeUrl !== null) return nodeUrl;
  const bound = typeof listening === 'object' ? listening?.port : undefined;
  const name = host === '0.0.0.0' || host === '::' ? firstAddress() : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${bound ?? port}`;
}

/** Of a service that listens everywhere. */
function firstAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address ?? '127.0.0.1';
}

export interface ClusterEdge {
  readonly cluster: Cluster;
  readonly hub: DialInHub;
  readonly pepper: Secret;
}

/** Where other nodes and devices come in. */
export function addClusterRoutes(http: FastifyInstance, { cluster, hub, pepper }: ClusterEdge): void {
  const { leases, receive } = cluster;
  addDialInRoute(http, {
    hub,
    pepper,
    ownerAddress: async (integrationId) => {
      const owner = await leases.ownerOf(integrationId);
      return owner === null || owner.nodeId === leases.nodeId ? null : owner.address;
    },
  });
  if (receive !== null) addNodeRoute(http, receive);
}

export interface LeavingNode {
  readonly config: Pick<Config, 'drainGraceMs'>;
  readonly engine: Pick<Engine, 'leave'>;
  readonly leases: Pick<Leases, 'look' | 'hasOthers'>;
  readonly leaving: Leaving;
}

/** Time for a balancer that asks `/readyz` once a second to pass this node over. */
const usualGraceMs = 2_000;
const lastLookMs = 500;

/** It serves on until this has ended. Where nobody else could serve there is nothing to wait for. */
export async function leaveCluster({ config, engine, leases, leaving }: LeavingNode): Promise<void> {
  leaving.begin();
  // A node that has just come is not known yet. A database that hangs must not keep this one from its end.
  await Promise.race([leases.look(), delay(lastLookMs, undefined, { ref: false })]);
  const graceMs = config.drainGraceMs ?? (leases.hasOthers() ? usualGraceMs : 0);
  await Promise.all([engine.leave(), delay(graceMs)]);
}

/** Wakes the other nodes after a change. An action changes nothing that they keep. */
export function announcing(handlers: Handlers, changed: (orgId: string) => void): Handlers {
  const wrapped = Object.entries(handlers).map(([id, handler]) => {
    const { method, verifiedInCommit } = operationById(id as keyof Handlers);
    return [id, method === 'GET' || verifiedInCommit ? handler : announced(handler as AnyHandler, changed)];
  });
  return Object.fromEntries(wrapped) as Handlers;
}

type AnyHandler = (input: object) => Promise<unknown>;

function announced(handler: AnyHandler, changed: (orgId: string) => void): AnyHandler {
  return async (input) => {
    const result = await handler(input);
    if ('org' in input && isOrg(input.org)) changed(input.org.id);
    return result;
  };
}

function isOrg(value: unknown): value is { readonly id: string } {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string';
}

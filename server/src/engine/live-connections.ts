import type { Leases } from '../cluster/leases.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../kernel/app-error.ts';
import type { createKeyedMutex } from '../kernel/async-queue.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Secret } from '../kernel/secret.ts';
import type { Connection, EntityBinding, Health, ProviderDefinition, Relay } from '../providers/provider.ts';
import { requireFittingConfig } from '../providers/record-rules.ts';
import type { DialIn } from '../providers/transport/dial-in.ts';
import { type BoundEntities, createBoundEntities } from './bound-entities.ts';
import type { LinkRow } from './link.store.ts';
import type { CommandRelay } from './relay.ts';
import type { StateReports } from './state-reports.ts';
import type { UnderWay } from './under-way.ts';

export interface LinkSecrets {
  /** Grows with every change. */
  readonly version: number;
  readonly values: Readonly<Record<string, Secret>>;
}

export interface ConnectionsDeps {
  readonly leases: Leases;
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dataDir: string;
  readonly definitions: ReadonlyMap<string, ProviderDefinition>;
  readonly secretsOf: (orgId: string, integrationId: string) => Promise<LinkSecrets>;
  readonly reports: StateReports;
  readonly dialIn?: DialIn;
  readonly relay?: Pick<CommandRelay, 'send'>;
}

export interface Live {
  readonly orgId: string;
  readonly sinceMs: number;
  readonly connection: Connection;
  readonly configText: string;
  readonly secretsVersion: number;
  readonly bound: BoundEntities;
}

export interface Wanted {
  readonly link: LinkRow;
  readonly entities: readonly EntityBinding[];
}

export interface State {
  readonly live: Map<string, Live>;
  /** Everything that should have a connection, on this node or another. */
  readonly wanted: Map<string, Wanted>;
  /** Settles when everything gained so far was dialled. */
  dialling: Promise<void>;
  /** Commands that run on connections this node holds by a lease. */
  readonly underWay: UnderWay;
  /** Those that should have a connection and can not. */
  readonly broken: Set<string>;
  readonly epochs: Map<string, number>;
  /** Of each organization: the integration of every entity that can be a part of a portal. */
  readonly homes: Map<string, ReadonlyMap<string, string>>;
  /** One reconciliation of an organization at a time. */
  readonly perOrg: ReturnType<typeof createKeyedMutex>;
}

/** What connects to nothing is on every node, so its commands never leave the node they come to. */
export function isLeased({ definitions }: ConnectionsDeps, { providerType }: LinkRow): boolean {
  const manifest = definitions.get(providerType)?.manifest;
  return manifest !== undefined && manifest.connection !== 'none' && manifest.composition === undefined;
}

export function isHere(deps: ConnectionsDeps, link: LinkRow): boolean {
  return !isLeased(deps, link) || deps.leases.usableUntilMs(link.integrationId) > deps.clock.monotonicMs();
}

export function healthOf(deps: ConnectionsDeps, state: State, integrationId: string): Health | null {
  const wanted = state.wanted.get(integrationId);
  const isElsewhere = wanted !== undefined && !isHere(deps, wanted.link);
  return isElsewhere ? deps.leases.healthElsewhere(integrationId) : healthHere(state, integrationId);
}

export function healthHere(state: State, integrationId: string): Health | null {
  return (
    state.live.get(integrationId)?.connection.health() ?? (state.broken.has(integrationId) ? 'error' : null)
  );
}

export function textOf({ providerType, config }: LinkRow): string {
  return JSON.stringify([providerType, config]);
}

function relayFor(deps: ConnectionsDeps, state: State, orgId: string): Relay | undefined {
  const { relay } = deps;
  return (
    relay && {
      send: (command, entityId, verb, pulseSeconds) =>
        relay.send({ orgId, command, entityId, verb, pulseSeconds }),
      health: (entityId) => {
        const home = state.homes.get(orgId)?.get(entityId);
        return home === undefined ? 'error' : (healthOf(deps, state, home) ?? 'reduced');
      },
    }
  );
}

/** One integration that can not be connected must not keep the others of its organization from it. */
export async function connectOrReport(
  deps: ConnectionsDeps,
  state: State,
  link: LinkRow,
  entities: readonly EntityBinding[],
): Promise<void> {
  try {
    await connectOrUpdate(deps, state, link, entities);
  } catch (error) {
    // The fault of our database, and nothing about the integration: whoever asked may ask again.
    if (error instanceof AppError && error.code === 'unavailable') throw error;
    await disconnect(deps, state, link.integrationId);
    state.broken.add(link.integrationId);
    deps.logger.warn(
      { err: error, integration_id: link.integrationId },
      'an integration can not be connected',
    );
  }
}

async function connectOrUpdate(
  deps: ConnectionsDeps,
  state: State,
  link: LinkRow,
  entities: readonly EntityBinding[],
): Promise<void> {
  const definition = deps.definitions.get(link.providerType);
  if (definition === undefined) return;
  if (!isHere(deps, link)) return disconnect(deps, state, link.integrationId);
  // A configuration that was cleared has lost members the provider counts on.
  requireFittingConfig(definition.manifest.config, link.config);
  const secrets = await deps.secretsOf(link.orgId, link.integrationId);
  const known = state.live.get(link.integrationId);
  const isSame = known?.configText === textOf(link) && known.secretsVersion === secrets.version;
  if (known !== undefined && !isSame) await disconnect(deps, state, link.integrationId);
  // The lease may have gone while the secrets were read; nothing may be dialled without it.
  if (!isHere(deps, link)) return disconnect(deps, state, link.integrationId);
  const live = known !== undefined && isSame ? known : connect(deps, state, definition, link, secrets);
  if (live.bound.take(entities)) live.connection.bind(entities);
}

function connect(
  deps: ConnectionsDeps,
  state: State,
  definition: ProviderDefinition,
  link: LinkRow,
  secrets: LinkSecrets,
): Live {
  const { orgId, integrationId, config } = link;
  const source = definition.manifest.type;
  const connection = definition.connect(
    { orgId, integrationId, config, secrets: secrets.values },
    {
      clock: deps.clock,
      logger: deps.logger.child({ provider: source, integration_id: integrationId }),
      dataDir: deps.dataDir,
      dialIn: deps.dialIn,
      relay: relayFor(deps, state, orgId),
      onState: (entityId, status) => deps.reports.take({ orgId, entityId, status, source }),
    },
  );
  const live: Live = {
    orgId,
    sinceMs: deps.clock.monotonicMs(),
    connection,
    configText: textOf(link),
    secretsVersion: secrets.version,
    bound: createBoundEntities(),
  };
  state.live.set(integrationId, live);
  state.broken.delete(integrationId);
  return live;
}

export async function disconnect(deps: ConnectionsDeps, state: State, integrationId: string): Promise<void> {
  const live = state.live.get(integrationId);
  state.live.delete(integrationId);
  state.broken.delete(integrationId);
  try {
    await live?.connection.close();
  } catch (error) {
    deps.logger.warn({ err: error, integration_id: integrationId }, 'a connection did not close cleanly');
  }
}

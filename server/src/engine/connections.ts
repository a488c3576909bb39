import type { Database } from '../db/database.ts';
import { createKeyedMutex } from '../kernel/async-queue.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Secret } from '../kernel/secret.ts';
import type { Connection, EntityBinding, Health, ProviderDefinition, Relay } from '../providers/provider.ts';
import { requireFittingConfig } from '../providers/record-rules.ts';
import type { DialIn } from '../providers/transport/dial-in.ts';
import { type LinkRow, listBindings, listEpochs, listLinks } from './link.store.ts';
import type { CommandRelay } from './relay.ts';
import type { StateReports } from './state-reports.ts';

export interface LinkSecrets {
  /** Grows with every change. */
  readonly version: number;
  readonly values: Readonly<Record<string, Secret>>;
}

export interface Connections {
  /** The connection of an integration as it is configured now. Null when it has none. */
  of(link: LinkRow): Promise<Connection | null>;
  health(integrationId: string): Health | null;
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface ConnectionsDeps {
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

interface Live {
  readonly orgId: string;
  readonly connection: Connection;
  readonly configText: string;
  readonly secretsVersion: number;
  bindingsText: string;
}

interface State {
  readonly live: Map<string, Live>;
  /** Those that should have a connection and can not. */
  readonly broken: Set<string>;
  readonly epochs: Map<string, number>;
  /** Of each organization: the integration of every entity that can be a part of a portal. */
  readonly homes: Map<string, ReadonlyMap<string, string>>;
  /** One reconciliation of an organization at a time. */
  readonly perOrg: ReturnType<typeof createKeyedMutex>;
}

const lookEveryMs = 1_000;

/**
 * Keeps one connection for every enabled integration. An organization is looked at again when its epoch has changed,
 * and only what changed in it is touched: a connection survives the edits of others.
 */
export function createConnections(deps: ConnectionsDeps): Connections {
  const state: State = {
    live: new Map(),
    broken: new Set(),
    epochs: new Map(),
    homes: new Map(),
    perOrg: createKeyedMutex(),
  };
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();
  return {
    async of(link) {
      const known = state.live.get(link.integrationId);
      if (known?.configText === textOf(link)) return known.connection;
      await reconcile(deps, state, link.orgId);
      return state.live.get(link.integrationId)?.connection ?? null;
    },
    health: (integrationId) => healthOf(state, integrationId),
    async start() {
      await lookForChanges(deps, state);
      timer = setInterval(() => {
        looking = looking.then(() => lookForChanges(deps, state));
      }, lookEveryMs);
      timer.unref();
    },
    async close() {
      clearInterval(timer);
      await looking;
      await Promise.all([...state.live.keys()].map((id) => disconnect(deps, state, id)));
    },
  };
}

function healthOf(state: State, integrationId: string): Health | null {
  return (
    state.live.get(integrationId)?.connection.health() ?? (state.broken.has(integrationId) ? 'error' : null)
  );
}

function textOf({ providerType, config }: LinkRow): string {
  return JSON.stringify([providerType, config]);
}

async function lookForChanges(deps: ConnectionsDeps, state: State): Promise<void> {
  try {
    const epochs = await deps.db.asService((tx) => listEpochs(tx));
    for (const { orgId, epoch } of epochs) {
      if (state.epochs.get(orgId) === epoch) continue;
      await reconcile(deps, state, orgId);
      state.epochs.set(orgId, epoch);
    }
    const known = new Set(epochs.map((row) => row.orgId));
    const purged = [...state.live].filter(([, live]) => !known.has(live.orgId));
    for (const orgId of state.homes.keys()) if (!known.has(orgId)) state.homes.delete(orgId);
    for (const [integrationId] of purged) await disconnect(deps, state, integrationId);
  } catch (error) {
    deps.logger.warn({ err: error }, 'the connections could not be looked after; it is tried again');
  }
}

function reconcile(deps: ConnectionsDeps, state: State, orgId: string): Promise<void> {
  return state.perOrg.run(orgId, async () => {
    const { links, bindings } = await deps.db.inOrg(orgId, async (tx) => ({
      links: await listLinks(tx, orgId),
      bindings: Map.groupBy(await listBindings(tx, orgId), (binding) => binding.integrationId),
    }));
    const wanted = new Set(links.map((link) => link.integrationId));
    state.homes.set(orgId, homesOf(deps, links, bindings));
    const gone = [...state.live].filter(([id, live]) => live.orgId === orgId && !wanted.has(id));
    for (const [integrationId] of gone) await disconnect(deps, state, integrationId);
    for (const link of links)
      await connectOrReport(deps, state, link, bindings.get(link.integrationId) ?? []);
  });
}

/** Hardware only: the health of a site rests on it, and must not rest on another site. */
function homesOf(
  { definitions }: ConnectionsDeps,
  links: readonly LinkRow[],
  bindings: ReadonlyMap<string, readonly EntityBinding[]>,
): ReadonlyMap<string, string> {
  const hardware = links.filter(
    ({ providerType }) => definitions.get(providerType)?.manifest.composition === undefined,
  );
  return new Map(
    hardware.flatMap(({ integrationId }) =>
      (bindings.get(integrationId) ?? []).map((entity) => [entity.entityId, integrationId] as const),
    ),
  );
}

function relayFor({ relay }: ConnectionsDeps, state: State, orgId: string): Relay | undefined {
  return (
    relay && {
      send: (command, entityId, verb, pulseSeconds) =>
        relay.send({ orgId, command, entityId, verb, pulseSeconds }),
      health: (entityId) => {
        const home = state.homes.get(orgId)?.get(entityId);
        return home === undefined ? 'error' : (healthOf(state, home) ?? 'reduced');
      },
    }
  );
}

/** One integration that can not be connected must not keep the others of its organization from it. */
async function connectOrReport(
  deps: ConnectionsDeps,
  state: State,
  link: LinkRow,
  entities: readonly EntityBinding[],
): Promise<void> {
  try {
    await connectOrUpdate(deps, state, link, entities);
  } catch (error) {
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
  // A configuration that was cleared has lost members the provider counts on.
  requireFittingConfig(definition.manifest.config, link.config);
  const secrets = await deps.secretsOf(link.orgId, link.integrationId);
  const known = state.live.get(link.integrationId);
  const isSame = known?.configText === textOf(link) && known.secretsVersion === secrets.version;
  if (known !== undefined && !isSame) await disconnect(deps, state, link.integrationId);
  const live = known !== undefined && isSame ? known : connect(deps, state, definition, link, secrets);
  const bindingsText = JSON.stringify(entities);
  if (live.bindingsText === bindingsText) return;
  live.bindingsText = bindingsText;
  live.connection.bind(entities);
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
    connection,
    configText: textOf(link),
    secretsVersion: secrets.version,
    bindingsText: '',
  };
  state.live.set(integrationId, live);
  state.broken.delete(integrationId);
  return live;
}

async function disconnect(deps: ConnectionsDeps, state: State, integrationId: string): Promise<void> {
  const live = state.live.get(integrationId);
  state.live.delete(integrationId);
  state.broken.delete(integrationId);
  try {
    await live?.connection.close();
  } catch (error) {
    deps.logger.warn({ err: error, integration_id: integrationId }, 'a connection did not close cleanly');
  }
}

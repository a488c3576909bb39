import { setTimeout as delay } from 'node:timers/promises';
import type { LeaseHolder, Leases } from '../cluster/leases.ts';
import type { Database } from '../db/database.ts';
import { createKeyedMutex } from '../kernel/async-queue.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Secret } from '../kernel/secret.ts';
import type { Connection, EntityBinding, Health, ProviderDefinition, Relay } from '../providers/provider.ts';
import { requireFittingConfig } from '../providers/record-rules.ts';
import type { DialIn } from '../providers/transport/dial-in.ts';
import { type BoundEntities, createBoundEntities } from './bound-entities.ts';
import { homesOf } from './entity-homes.ts';
import { type LinkRow, listBindings, listEpochs, listLinks } from './link.store.ts';
import type { CommandRelay } from './relay.ts';
import type { StateReports } from './state-reports.ts';
import { createUnderWay, type UnderWay } from './under-way.ts';

export interface LinkSecrets {
  /** Grows with every change. */
  readonly version: number;
  readonly values: Readonly<Record<string, Secret>>;
}

export interface Connections {
  /** The connection of an integration as it is configured now. Null when it has none. */
  of(link: LinkRow): Promise<Connection | null>;
  /**
   * Works with the connection; it is not given to another node before the work has ended. `elsewhere`: this node does
   * not hold it. `none`: there is none, and no other node has one either. Without an entity the work is about the
   * integration as a whole.
   */
  use<T>(
    link: LinkRow,
    entity: EntityBinding | null,
    work: (usable: Usable) => Promise<T>,
  ): Promise<T | 'elsewhere' | 'none'>;
  /** Sees to it that a connection nobody holds gets an owner. False when it should have none. */
  takeUp(link: LinkRow, waitedMs: number): Promise<boolean>;
  /** Looks at these organizations again. */
  refresh(orgIds: readonly string[]): Promise<void>;
  health(integrationId: string): Health | null;
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface Usable {
  readonly connection: Connection;
  /** Monotonic; asked right before a command is sent. */
  readonly untilMs: () => number;
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

interface Live {
  readonly orgId: string;
  readonly sinceMs: number;
  readonly connection: Connection;
  readonly configText: string;
  readonly secretsVersion: number;
  readonly bound: BoundEntities;
}

interface Wanted {
  readonly link: LinkRow;
  readonly entities: readonly EntityBinding[];
}

interface State {
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

const lookEveryMs = 1_000;
/** So long a new connection is waited for: it has just been dialled, here or in place of another node. */
const readyWithinMs = 3_000;
const readyPollMs = 20;
/** So long a lease that nobody holds is left to the node it falls to. */
const patienceMs = 500;

/**
 * Keeps one connection for every enabled integration that this node holds the lease of. An organization is looked at again when its epoch has changed,
 * and only what changed in it is touched: a connection survives the edits of others.
 */
export function createConnections(deps: ConnectionsDeps): Connections {
  const state: State = {
    live: new Map(),
    wanted: new Map(),
    dialling: Promise.resolve(),
    underWay: createUnderWay(),
    broken: new Set(),
    epochs: new Map(),
    homes: new Map(),
    perOrg: createKeyedMutex(),
  };
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();
  return {
    of: async (link) => (await liveOf(deps, state, link))?.connection ?? null,
    use: (link, entity, work) => use(deps, state, link, entity, work),
    takeUp: (link, waitedMs) => takeUp(deps, state, link, waitedMs),
    refresh: async (orgIds) => {
      for (const orgId of orgIds) await reconcile(deps, state, orgId);
    },
    health: (integrationId) => healthOf(deps, state, integrationId),
    async start() {
      await lookForChanges(deps, state);
      await deps.leases.start(leaseHolder(deps, state));
      await state.dialling;
      timer = setInterval(() => {
        looking = looking.then(() => lookForChanges(deps, state));
      }, lookEveryMs);
      timer.unref();
    },
    async close() {
      clearInterval(timer);
      await looking;
      await Promise.all([...state.live.keys()].map((id) => disconnect(deps, state, id)));
      await deps.leases.close();
    },
  };
}

const orgsOf = (wanted: State['wanted']): ReadonlySet<string> =>
  new Set([...wanted.values()].map(({ link }) => link.orgId));

/** What connects to nothing is on every node, so its commands never leave the node they come to. */
function isLeased({ definitions }: ConnectionsDeps, { providerType }: LinkRow): boolean {
  const manifest = definitions.get(providerType)?.manifest;
  return manifest !== undefined && manifest.connection !== 'none' && manifest.composition === undefined;
}

function isHere(deps: ConnectionsDeps, link: LinkRow): boolean {
  return !isLeased(deps, link) || deps.leases.usableUntilMs(link.integrationId) > deps.clock.monotonicMs();
}

/** A connection that was not told of the entity would not hear its answer. */
async function liveOf(
  deps: ConnectionsDeps,
  state: State,
  link: LinkRow,
  entity: EntityBinding | null = null,
): Promise<Live | null> {
  if (!isHere(deps, link)) return null;
  const known = state.live.get(link.integrationId);
  const isBound = entity === null || known?.bound.has(entity);
  if (known?.configText === textOf(link) && isBound) return known;
  await reconcile(deps, state, link.orgId);
  return state.live.get(link.integrationId) ?? null;
}

async function use<T>(
  deps: ConnectionsDeps,
  state: State,
  link: LinkRow,
  entity: EntityBinding | null,
  work: (usable: Usable) => Promise<T>,
): Promise<T | 'elsewhere' | 'none'> {
  const live = await liveOf(deps, state, link, entity);
  if (live === null) return isHere(deps, link) ? 'none' : 'elsewhere';
  const { connection } = live;
  if (!isLeased(deps, link)) return work({ connection, untilMs: () => Number.POSITIVE_INFINITY });
  await becomesReady(deps, live);
  const untilMs = () => deps.leases.usableUntilMs(link.integrationId);
  return state.underWay.run(link.integrationId, () => work({ connection, untilMs }));
}

async function becomesReady({ clock }: ConnectionsDeps, { connection, sinceMs }: Live): Promise<void> {
  while (connection.health() === 'error' && clock.monotonicMs() - sinceMs < readyWithinMs)
    await delay(readyPollMs);
}

async function takeUp(
  deps: ConnectionsDeps,
  state: State,
  link: LinkRow,
  waitedMs: number,
): Promise<boolean> {
  const { integrationId, orgId } = link;
  if (!deps.leases.wants(integrationId)) await reconcile(deps, state, orgId);
  if (!deps.leases.wants(integrationId)) return false;
  if (!deps.leases.hasOthers() || waitedMs >= patienceMs) await deps.leases.take({ orgId, integrationId });
  return true;
}

function leaseHolder(deps: ConnectionsDeps, state: State): LeaseHolder {
  return {
    gained: ({ orgId, integrationId }) => {
      const dial = () =>
        state.perOrg.run(orgId, async () => {
          const wanted = state.wanted.get(integrationId);
          if (wanted !== undefined) await connectOrReport(deps, state, wanted.link, wanted.entities);
        });
      // One after the other: a whole node's share may come at once. A command for one of them dials it at once.
      state.dialling = state.dialling.then(dial);
    },
    yielded: async ({ integrationId }) => {
      await state.underWay.settled(integrationId);
      await disconnect(deps, state, integrationId);
    },
    lost: ({ integrationId }) => void disconnect(deps, state, integrationId),
    health: (integrationId) => healthHere(state, integrationId) ?? 'reduced',
  };
}

function healthOf(deps: ConnectionsDeps, state: State, integrationId: string): Health | null {
  const wanted = state.wanted.get(integrationId);
  const isElsewhere = wanted !== undefined && !isHere(deps, wanted.link);
  return isElsewhere ? deps.leases.healthElsewhere(integrationId) : healthHere(state, integrationId);
}

function healthHere(state: State, integrationId: string): Health | null {
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
    for (const orgId of orgsOf(state.wanted))
      if (!known.has(orgId)) setWanted(deps, state, orgId, [], new Map());
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
    const isNew = setWanted(deps, state, orgId, links, bindings);
    const wanted = new Set(links.map((link) => link.integrationId));
    state.homes.set(orgId, homesOf(deps.definitions, links, bindings));
    const gone = [...state.live].filter(([id, live]) => live.orgId === orgId && !wanted.has(id));
    for (const [integrationId] of gone) await disconnect(deps, state, integrationId);
    for (const link of links)
      await connectOrReport(deps, state, link, bindings.get(link.integrationId) ?? []);
    // Not waited for: what it gains comes back here, one after the other.
    if (isNew) void deps.leases.look();
  });
}

/** Answers whether something is wanted that was not. */
function setWanted(
  deps: ConnectionsDeps,
  state: State,
  orgId: string,
  links: readonly LinkRow[],
  bindings: ReadonlyMap<string, readonly EntityBinding[]>,
): boolean {
  const leased = links.filter((link) => isLeased(deps, link)).map((link) => link.integrationId);
  const isNew = leased.some((id) => !deps.leases.wants(id));
  deps.leases.want(orgId, leased);
  for (const [id, { link }] of state.wanted) if (link.orgId === orgId) state.wanted.delete(id);
  for (const link of links)
    state.wanted.set(link.integrationId, { link, entities: bindings.get(link.integrationId) ?? [] });
  return isNew;
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

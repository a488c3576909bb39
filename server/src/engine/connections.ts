import { setTimeout as delay } from 'node:timers/promises';
import type { LeaseHolder } from '../cluster/leases.ts';
import { createKeyedMutex } from '../kernel/async-queue.ts';
import { createTicker } from '../kernel/ticker.ts';
import type { Connection, EntityBinding, Health } from '../providers/provider.ts';
import { homesOf } from './entity-homes.ts';
import { type LinkRow, listBindings, listEpochs, listLinks } from './link.store.ts';
import {
  type ConnectionsDeps,
  connectOrReport,
  disconnect,
  healthHere,
  healthOf,
  isHere,
  isLeased,
  type Live,
  type State,
  textOf,
} from './live-connections.ts';
import { createUnderWay } from './under-way.ts';

export interface Connections {
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
  const looking = createTicker({
    everyMs: lookEveryMs,
    work: () => lookForChanges(deps, state),
    logger: deps.logger,
    trouble: 'the connections could not be looked after; it is tried again',
  });
  return {
    use: (link, entity, work) => use(deps, state, link, entity, work),
    takeUp: (link, waitedMs) => takeUp(deps, state, link, waitedMs),
    refresh: async (orgIds) => {
      for (const orgId of orgIds) await reconcile(deps, state, orgId);
    },
    health: (integrationId) => healthOf(deps, state, integrationId),
    async start() {
      await looking.turn();
      await deps.leases.start(leaseHolder(deps, state));
      await state.dialling;
      looking.start();
    },
    async close() {
      await looking.stop();
      await Promise.all([...state.live.keys()].map((id) => disconnect(deps, state, id)));
      await deps.leases.close();
    },
  };
}

function orgsOf({ wanted, live, homes }: State): ReadonlySet<string> {
  const ids = [...wanted.values()].map(({ link }) => link.orgId);
  return new Set([...ids, ...[...live.values()].map(({ orgId }) => orgId), ...homes.keys()]);
}

/** A purged organization. */
async function forget(deps: ConnectionsDeps, state: State, orgId: string): Promise<void> {
  setWanted(deps, state, orgId, [], new Map());
  state.homes.delete(orgId);
  state.epochs.delete(orgId);
  const purged = [...state.live].filter(([, live]) => live.orgId === orgId);
  for (const [integrationId] of purged) await disconnect(deps, state, integrationId);
}

/** A connection that was not told of the entity would not hear its answer. */
async function liveOf(
  deps: ConnectionsDeps,
  state: State,
  link: LinkRow,
  entity: EntityBinding | null = null,
): Promise<Live | 'elsewhere' | 'none'> {
  if (!isHere(deps, link)) return 'elsewhere';
  const known = state.live.get(link.integrationId);
  const isBound = entity === null || known?.bound.has(entity);
  if (known?.configText === textOf(link) && isBound) return known;
  await reconcile(deps, state, link.orgId);
  return state.live.get(link.integrationId) ?? whyNot(state, link);
}

/** What is wanted and not broken was given away meanwhile, and may even have come back. */
function whyNot(state: State, { integrationId }: LinkRow): 'elsewhere' | 'none' {
  return state.wanted.has(integrationId) && !state.broken.has(integrationId) ? 'elsewhere' : 'none';
}

async function use<T>(
  deps: ConnectionsDeps,
  state: State,
  link: LinkRow,
  entity: EntityBinding | null,
  work: (usable: Usable) => Promise<T>,
): Promise<T | 'elsewhere' | 'none'> {
  const live = await liveOf(deps, state, link, entity);
  if (live === 'none' || live === 'elsewhere') return live;
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
      state.dialling = state.dialling.then(dial).catch((error: unknown) => {
        deps.logger.warn(
          { err: error, integration_id: integrationId },
          'not connected yet; it is tried again',
        );
        state.epochs.delete(orgId);
      });
    },
    yielded: async ({ integrationId }) => {
      await state.underWay.settled(integrationId);
      await disconnect(deps, state, integrationId);
    },
    lost: ({ integrationId }) => void disconnect(deps, state, integrationId),
    health: (integrationId) => healthHere(state, integrationId) ?? 'reduced',
  };
}

async function lookForChanges(deps: ConnectionsDeps, state: State): Promise<void> {
  // Before the database is asked: an organization that a request brings in meanwhile is not one that has gone.
  const before = orgsOf(state);
  const epochs = await deps.db.asService((tx) => listEpochs(tx));
  for (const { orgId, epoch } of epochs) {
    if (state.epochs.get(orgId) === epoch) continue;
    await reconcile(deps, state, orgId);
    state.epochs.set(orgId, epoch);
  }
  const known = new Set(epochs.map((row) => row.orgId));
  for (const orgId of before) if (!known.has(orgId)) await forget(deps, state, orgId);
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

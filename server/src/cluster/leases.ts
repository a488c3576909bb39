import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import {
  claimLeases,
  deleteLostNodes,
  deleteNode,
  findOwner,
  type LeaseHealth,
  type LeaseKey,
  type LeaseRow,
  type LiveNode,
  listLiveNodes,
  listPoorHealth,
  type Owner,
  readDatabaseTime,
  releaseLeases,
  renewLeases,
  upsertNode,
} from './cluster.store.ts';
import { createLeaseClock, type LeaseClock, type Mark } from './lease-clock.ts';
import { preferredNode } from './rendezvous.rules.ts';

/** Who uses the connections that the leases are about. */
export interface LeaseHolder {
  gained(lease: LeaseRow): void;
  /** Finishes what is under way and closes the connection; the lease is given back after it. */
  yielded(lease: LeaseRow): Promise<void>;
  /** It may belong to another any moment: close at once. */
  lost(lease: LeaseRow): void;
  health(integrationId: string): LeaseHealth;
}

export interface Leases {
  readonly nodeId: string;
  /** The integrations of an organization that should have an owner, this node or another. */
  want(orgId: string, integrationIds: readonly string[]): void;
  wants(integrationId: string): boolean;
  /** Monotonic; in the past when the lease is not ours, or is of another epoch than given. Checked last before a send. */
  usableUntilMs(integrationId: string, epoch?: number): number;
  ownerOf(integrationId: string): Promise<Owner | null>;
  /** How a connection of another node does; null when nobody has it. */
  healthElsewhere(integrationId: string): LeaseHealth | null;
  /** Takes a lease that is nobody's, whoever it would fall to. */
  take(key: LeaseKey): Promise<void>;
  /** Renews, takes and gives back what is due, now. */
  look(): Promise<void>;
  /** Until a lease here has changed, or for so long. */
  changed(withinMs: number): Promise<void>;
  /** The database's time; null before it is known. */
  databaseMs(): number | null;
  held(): number;
  hasOthers(): boolean;
  start(holder: LeaseHolder): Promise<void>;
  /** Hands everything over and takes nothing more. */
  leave(): Promise<void>;
  /** Gives back what is left. The connections must be closed before. */
  close(): Promise<void>;
}

export interface LeasesDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeId: string;
  readonly address: () => string;
  readonly leaseMs: number;
  /** Tells the other nodes that there is something to take. */
  readonly announce: () => void;
}

interface Held extends LeaseRow {
  /** From before the statement that made or renewed it. */
  readonly mark: Mark;
  readonly yielding: boolean;
}

interface State {
  readonly time: LeaseClock;
  readonly release: (lease: LeaseRow) => Promise<void>;
  readonly held: Map<string, Held>;
  readonly wanted: Map<string, LeaseKey>;
  readonly waiters: Set<() => void>;
  nodes: readonly LiveNode[];
  poorHealth: ReadonlyMap<string, LeaseHealth>;
  holder: LeaseHolder | null;
  leaving: boolean;
}

/** A lease is not used in its last quarter, which is left for closing the connection before another may take it. */
const usableShare = 0.75;
const renewalsPerLease = 5;

export function createLeases(deps: LeasesDeps): Leases {
  const state: State = {
    time: createLeaseClock(deps.clock),
    release: createRelease(deps),
    held: new Map(),
    wanted: new Map(),
    waiters: new Set(),
    nodes: [],
    poorHealth: new Map(),
    holder: null,
    leaving: false,
  };
  const work = createWork(deps, state);
  return {
    nodeId: deps.nodeId,
    want: (orgId, integrationIds) => want(state, orgId, integrationIds),
    wants: (integrationId) => state.wanted.has(integrationId),
    usableUntilMs: (integrationId, epoch) => usableUntilMs(deps, state, integrationId, epoch),
    ownerOf: (integrationId) => deps.db.asService((tx) => findOwner(tx, integrationId)),
    healthElsewhere: (integrationId) =>
      state.wanted.has(integrationId) ? (state.poorHealth.get(integrationId) ?? 'ok') : null,
    take: (key) => work.queue(() => claim(deps, state, [key])),
    look: work.look,
    changed: (withinMs) => changed(state, withinMs),
    databaseMs: state.time.databaseMs,
    held: () => state.held.size,
    hasOthers: () => state.nodes.some(({ id }) => id !== deps.nodeId),
    async start(holder) {
      state.holder = holder;
      await work.start();
    },
    leave: () => leave(deps, state, work.queue),
    async close() {
      state.leaving = true;
      await work.stop();
      await end(deps, state);
    },
  };
}

/** One look at a time, and one more for all who ask while it runs. */
function createWork(deps: LeasesDeps, state: State) {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | null = null;
  const timers: NodeJS.Timeout[] = [];
  const queue = async (job: () => Promise<unknown>): Promise<void> => {
    const turn = running.then(job);
    running = turn.catch(() => undefined);
    await turn;
  };
  const look = async (): Promise<void> => {
    if (state.holder === null) return;
    next ??= queue(() => {
      next = null;
      return lookOnce(deps, state);
    });
    return next;
  };
  return {
    queue,
    look,
    async start() {
      await look();
      timers.push(setInterval(() => void look(), deps.leaseMs / renewalsPerLease));
      timers.push(setInterval(() => dropOverdue(deps, state), Math.max(20, deps.leaseMs / 60)));
      for (const timer of timers) timer.unref();
    },
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await running;
    },
  };
}

function want({ wanted }: State, orgId: string, integrationIds: readonly string[]): void {
  for (const [id, key] of wanted) if (key.orgId === orgId) wanted.delete(id);
  for (const integrationId of integrationIds) wanted.set(integrationId, { orgId, integrationId });
}

function usableUntilMs({ clock, leaseMs }: LeasesDeps, state: State, id: string, epoch?: number): number {
  const lease = state.held.get(id);
  if (lease === undefined || lease.yielding || (epoch !== undefined && lease.epoch !== epoch))
    return Number.NEGATIVE_INFINITY;
  return clock.monotonicMs() + leaseMs * usableShare - state.time.since(lease.mark);
}

async function lookOnce(deps: LeasesDeps, state: State): Promise<void> {
  try {
    await renew(deps, state);
    const ids = state.nodes.map((node) => node.id);
    const isOurs = ({ integrationId }: LeaseKey) => preferredNode(ids, integrationId) === deps.nodeId;
    const missing = [...state.wanted.values()].filter((key) => !state.held.has(key.integrationId));
    await claim(deps, state, missing.filter(isOurs));
    for (const lease of state.held.values())
      if (!lease.yielding && !shouldKeep(deps, state, lease, ids)) void giveBack(deps, state, lease);
  } catch (error) {
    deps.logger.warn({ err: error }, 'the leases could not be looked after; it is tried again');
  }
}

/** A sign of life, every lease of this node, and a look at the others, in one transaction. */
async function renew(deps: LeasesDeps, state: State): Promise<void> {
  const { nodeId, leaseMs } = deps;
  const before = state.time.mark();
  const held = [...state.held.values()];
  const health = (id: string) => state.holder?.health(id) ?? 'reduced';
  // As the service: a node serves every organization.
  const found = await deps.db.asService(async (tx) => {
    if (!state.leaving) await upsertNode(tx, nodeId, deps.address());
    const rows = held.map((lease) => ({ ...lease, health: health(lease.integrationId) }));
    const renewed = rows.length === 0 ? [] : await renewLeases(tx, nodeId, rows, leaseMs);
    const nodes = await listLiveNodes(tx, leaseMs);
    const isAlone = nodes.every(({ id }) => id === nodeId);
    if (!isAlone) await deleteLostNodes(tx);
    const poorHealth = isAlone ? [] : await listPoorHealth(tx, nodeId);
    return { renewed, nodes, poorHealth, databaseMs: await readDatabaseTime(tx) };
  });
  state.time.learn(found.databaseMs, before);
  state.nodes = found.nodes;
  state.poorHealth = new Map(found.poorHealth.map((row) => [row.integrationId, row.health]));
  const renewed = new Set(found.renewed.map((row) => row.integrationId));
  for (const { integrationId, epoch } of held) {
    const lease = state.held.get(integrationId);
    if (lease?.epoch !== epoch) continue;
    if (renewed.has(integrationId)) state.held.set(integrationId, { ...lease, mark: before });
    else drop(state, lease);
  }
}

async function claim(deps: LeasesDeps, state: State, keys: readonly LeaseKey[]): Promise<void> {
  if (keys.length === 0 || state.leaving) return;
  const mark = state.time.mark();
  const rows = await deps.db.asService((tx) => claimLeases(tx, deps.nodeId, keys, deps.leaseMs));
  for (const row of rows) {
    state.held.set(row.integrationId, { ...row, mark, yielding: false });
    state.holder?.gained(row);
  }
  if (rows.length > 0) tellWaiters(state);
}

/** Only to a node that surely lives: a lease given to one that hangs would be nobody's for a while. */
function shouldKeep(deps: LeasesDeps, state: State, lease: Held, nodeIds: readonly string[]): boolean {
  if (!state.wanted.has(lease.integrationId)) return false;
  const preferred = preferredNode(nodeIds, lease.integrationId);
  const other = state.nodes.find(({ id }) => id === preferred && id !== deps.nodeId);
  return other === undefined || other.silentMs > deps.leaseMs / 2;
}

async function giveBack(deps: LeasesDeps, state: State, lease: Held): Promise<void> {
  state.held.set(lease.integrationId, { ...lease, yielding: true });
  try {
    await state.holder?.yielded(lease);
    await state.release(lease);
  } catch (error) {
    // It ends by itself then; until it has, nobody uses it.
    deps.logger.warn({ err: error, integration_id: lease.integrationId }, 'a lease could not be given back');
  }
  if (state.held.get(lease.integrationId)?.epoch === lease.epoch) state.held.delete(lease.integrationId);
  tellWaiters(state);
  deps.announce();
}

/** Those that are given back within a moment go in one statement, but none waits for the commands of another. */
function createRelease({ db, nodeId }: LeasesDeps): State['release'] {
  let pending: LeaseRow[] = [];
  let flush: Promise<void> | null = null;
  return (lease) => {
    pending.push(lease);
    flush ??= delay(10).then(async () => {
      const leases = pending;
      pending = [];
      flush = null;
      await db.asService((tx) => releaseLeases(tx, nodeId, leases));
    });
    return flush;
  };
}

/** INVARIANT: runs, and closes the connection, before the lease is over by the database's time. */
function dropOverdue(deps: LeasesDeps, state: State): void {
  for (const lease of state.held.values())
    if (state.time.since(lease.mark) >= deps.leaseMs * usableShare) drop(state, lease);
}

function drop(state: State, lease: Held): void {
  state.held.delete(lease.integrationId);
  state.holder?.lost(lease);
  tellWaiters(state);
}

type Queue = ReturnType<typeof createWork>['queue'];

async function leave(deps: LeasesDeps, state: State, queue: Queue): Promise<void> {
  state.leaving = true;
  try {
    await queue(() => deps.db.asService((tx) => deleteNode(tx, deps.nodeId)));
  } catch (error) {
    deps.logger.warn({ err: error }, 'the other nodes can not be told that this one leaves');
  }
  await Promise.all([...state.held.values()].map((lease) => giveBack(deps, state, lease)));
}

async function end(deps: LeasesDeps, state: State): Promise<void> {
  const left = [...state.held.values()];
  state.held.clear();
  try {
    await deps.db.asService(async (tx) => {
      if (left.length > 0) await releaseLeases(tx, deps.nodeId, left);
      await deleteNode(tx, deps.nodeId);
    });
    if (left.length > 0) deps.announce();
  } catch (error) {
    deps.logger.warn({ err: error }, 'the leases could not be given back; they end by themselves');
  }
}

function tellWaiters({ waiters }: State): void {
  for (const waiter of waiters) waiter();
}

function changed({ waiters }: State, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      waiters.delete(done);
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, withinMs);
    waiters.add(done);
  });
}

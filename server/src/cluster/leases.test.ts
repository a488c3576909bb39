import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { soon } from '../../test/support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts';
import { createWorld } from '../../test/support/test-world.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { createLogger } from '../kernel/logger.ts';
import { createLeases, type LeaseHolder, type Leases } from './leases.ts';
import { preferredNode } from './rendezvous.rules.ts';

interface Node {
  readonly leases: Leases;
  /** What happened to it, in order. */
  readonly story: string[];
}

/** So long that no node looks by itself while a test runs. */
const leaseMs = 3_600_000;

describe('connection leases', () => {
  let owner: TestDatabase;
  let db: Database;
  let orgId: string;
  let integrationId: string;
  let nodes: Node[];

  beforeAll(async () => {
    owner = await createTestDatabase(inject('ownerUrl'));
    db = createDatabase({ url: owner.url, maxConnections: 6, onError: () => undefined });
  });
  afterAll(async () => {
    await db.close();
    await owner.drop();
  });
  beforeEach(async () => {
    nodes = [];
    orgId = await createWorld(owner).org();
    ({ integrationId } = await createWorld(owner).building(orgId));
  });
  afterEach(() => Promise.all(nodes.map(({ leases }) => leases.close())));

  function node(nodeId: string, options: { clock?: Clock } = {}): Node {
    const story: string[] = [];
    const leases = createLeases({
      db,
      clock: options.clock ?? systemClock,
      logger: createLogger({ level: 'silent' }),
      nodeId,
      address: () => `http://${nodeId}`,
      leaseMs,
      announce: () => story.push('announced'),
    });
    const made = { leases, story };
    leases.want(orgId, [integrationId]);
    nodes.push(made);
    return made;
  }

  const holderOf = ({ story }: Node, yielding: Promise<void> = Promise.resolve()): LeaseHolder => ({
    gained: ({ epoch }) => story.push(`gained ${epoch}`),
    yielded: async ({ epoch }) => {
      await yielding;
      story.push(`yielded ${epoch}`);
    },
    lost: ({ epoch }) => story.push(`lost ${epoch}`),
    health: () => 'ok',
  });
  const isUsable = ({ leases }: Node, epoch?: number) =>
    leases.usableUntilMs(integrationId, epoch) > systemClock.monotonicMs();
  const expire = () =>
    owner.query(`update connection_leases set expires_at = now() where integration_id = $1`, [integrationId]);
  const forgetNode = (id: string) => owner.query('delete from nodes where id = $1', [id]);

  it('are one for each integration, whoever asks and however many at once', async () => {
    const many = Array.from({ length: 6 }, (_, index) => node(`N${index}`));
    await Promise.all(many.map((each) => each.leases.start(holderOf(each))));
    await Promise.all(many.map(({ leases }) => leases.take({ orgId, integrationId })));
    expect(many.filter((each) => isUsable(each))).toHaveLength(1);
  });

  it('fall to another when they have run out, under a higher epoch', async () => {
    const first = node('A');
    await first.leases.start(holderOf(first));
    expect(first.story).toEqual(['gained 1']);
    await forgetNode('A');
    await expire();
    const second = node('B');
    await second.leases.start(holderOf(second));
    expect(second.story).toEqual(['gained 2']);
    await first.leases.look();
    expect(first.story).toContain('lost 1');
    expect(isUsable(first)).toBe(false);
    expect(isUsable(second, 2)).toBe(true);
    expect(isUsable(second, 1)).toBe(false);
  });

  it('are not taken while they run, whoever wants them', async () => {
    const first = node('A');
    await first.leases.start(holderOf(first));
    const second = node('B');
    await second.leases.take({ orgId, integrationId });
    expect(second.leases.held()).toBe(0);
  });

  it.each([
    ['monotonic', { monotonicMs: 1, wallMs: 0 }],
    ['wall', { monotonicMs: 0, wallMs: 1 }],
  ])('are not used in their last quarter, by the %s clock', async (_name, moves) => {
    let passed = 0;
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => systemClock.monotonicMs() + passed * moves.monotonicMs,
      millis: () => systemClock.millis() + passed * moves.wallMs,
    };
    const only = node('A', { clock });
    await only.leases.start(holderOf(only));
    const left = () => only.leases.usableUntilMs(integrationId) - clock.monotonicMs();
    expect(left()).toBeGreaterThan(0);
    expect(left()).toBeLessThanOrEqual(leaseMs * 0.75);
    passed = leaseMs * 0.75;
    expect(left()).toBeLessThanOrEqual(0);
  });

  it('are given up before they run out when the database can not be reached', async () => {
    const lone = createDatabase({ url: owner.url, maxConnections: 2, onError: () => undefined });
    const story: string[] = [];
    let passed = 0;
    const leases = createLeases({
      db: lone,
      clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passed },
      logger: createLogger({ level: 'silent' }),
      nodeId: 'A',
      address: () => 'http://a',
      // It looks every second for what is overdue, and the row runs on for long.
      leaseMs: 60_000,
      announce: () => undefined,
    });
    leases.want(orgId, [integrationId]);
    await leases.start(holderOf({ leases, story }));
    await lone.close();
    expect(story).toEqual(['gained 1']);
    passed = 45_000;
    await vi.waitFor(() => expect(story).toEqual(['gained 1', 'lost 1']), soon);
    const [row] = await owner.query<{ runs: boolean }>(
      'select expires_at > now() as runs from connection_leases where integration_id = $1',
      [integrationId],
    );
    expect(row?.runs).toBe(true);
    await leases.close();
  });

  it('move to a node that joins, after what was under way has ended', async () => {
    const first = node('A');
    const { promise, resolve } = Promise.withResolvers<void>();
    await first.leases.start(holderOf(first, promise));
    const preferred = await join(true);
    await first.leases.look();
    expect(isUsable(first)).toBe(false);
    await preferred.leases.look();
    expect(preferred.story).toEqual([]);
    resolve();
    await vi.waitFor(() => expect(first.story).toContain('announced'), soon);
    await preferred.leases.look();
    expect(first.story).toEqual(['gained 1', 'yielded 1', 'announced']);
    expect(preferred.story).toEqual(['gained 2']);
  });

  /** Which node a lease falls to is a matter of hashes. */
  async function join(isPreferred: boolean): Promise<Node> {
    const idOf = (index: number) => `B${index}`;
    let index = 0;
    while ((preferredNode(['A', idOf(index)], integrationId) === 'A') === isPreferred) index += 1;
    const joined = node(idOf(index));
    await joined.leases.start(holderOf(joined));
    return joined;
  }

  it('are free at once when their node leaves', async () => {
    const first = node('A');
    await first.leases.start(holderOf(first));
    await first.leases.leave();
    expect(first.story).toEqual(['gained 1', 'yielded 1', 'announced']);
    expect(await first.leases.ownerOf(integrationId)).toBeNull();
    const second = node('B');
    await second.leases.start(holderOf(second));
    expect(await first.leases.ownerOf(integrationId)).toEqual({
      nodeId: 'B',
      address: 'http://B',
      epoch: 2,
    });
    await first.leases.look();
    expect(first.leases.held()).toBe(0);
  });

  it('tell how a connection of another node does', async () => {
    const first = node('A');
    await first.leases.start({ ...holderOf(first), health: () => 'error' });
    await first.leases.look();
    const second = await join(false);
    expect(second.leases.healthElsewhere(integrationId)).toBe('error');
    await first.leases.leave();
    await second.leases.look();
    expect(second.leases.held()).toBe(1);
  });
});

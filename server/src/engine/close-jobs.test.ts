import { Type } from 'typebox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { lonelyCluster } from '../../test/support/lonely-cluster.ts';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts';
import { type BuildingIds, createWorld } from '../../test/support/test-world.ts';
import { createDatabase, type Database } from '../db/database.ts';
import type { Call, OrgScope, UserPrincipal } from '../kernel/call.ts';
import { systemClock } from '../kernel/clock.ts';
import { createLogger } from '../kernel/logger.ts';
import { ulid } from '../kernel/ulid.ts';
import type { Command, Delivery, ProviderDefinition, Verb } from '../providers/provider.ts';
import { createEngine, type Engine } from './engine.ts';
import { createProviders } from './providers.ts';

type Answer = (verb: Verb) => Delivery | Promise<Delivery>;

/** So long that nothing comes due by itself. */
const pulseSeconds = 600;

/** A relay without a timer of its own: it stays as it was told. */
function plainRelay(sent: string[], answer: Answer): ProviderDefinition {
  const anything = Type.Object({});
  const act = (verb: Verb) => async (_command: Command) => {
    sent.push(verb);
    return answer(verb);
  };
  return {
    manifest: {
      type: 'virtual_demo',
      label: { en: 'Plain relay' },
      config: anything,
      secrets: anything,
      deviceMetadata: anything,
      entityMetadata: anything,
      connection: 'none',
      actions: ['open', 'close'],
      deviceExternalId: 'optional',
      entityExternalId: 'optional',
      defaultMinIntervalMs: 0,
      pulseBy: 'server',
      defaultPulseSeconds: () => pulseSeconds,
    },
    connect: () => ({
      actions: { open: act('open'), close: act('close') },
      health: () => 'ok',
      bind: () => undefined,
      close: async () => undefined,
    }),
  };
}

describe('doors that the service closes', () => {
  let owner: TestDatabase;
  let db: Database;
  let orgId: string;
  let building: BuildingIds;
  let sent: string[];
  let answer: Answer;
  const running: Engine[] = [];

  beforeAll(async () => {
    owner = await createTestDatabase(inject('ownerUrl'));
    db = createDatabase({ url: owner.url, maxConnections: 6, onError: () => undefined });
  });
  afterAll(async () => {
    await db.close();
    await owner.drop();
  });
  beforeEach(async () => {
    sent = [];
    answer = () => ({ kind: 'delivered', observed: null });
    orgId = await createWorld(owner).org();
    building = await createWorld(owner).building(orgId);
  });
  afterEach(async () => {
    await stopAll();
    await owner.query('delete from close_jobs');
  });

  async function startEngine(): Promise<Engine> {
    const logger = createLogger({ level: 'silent' });
    const definitions = new Map([['virtual_demo', plainRelay(sent, (verb) => answer(verb))]]);
    const secretsOf = async () => ({ version: 0, values: {} });
    const cluster = lonelyCluster(db, owner.url);
    const providers = createProviders({
      db,
      clock: systemClock,
      logger,
      dataDir: '/nowhere',
      definitions,
      secretsOf,
      leases: cluster.leases,
    });
    const engine = createEngine({ db, clock: systemClock, logger, providers, cluster });
    running.push(engine);
    await engine.start();
    return engine;
  }
  async function act(engine: Engine, actionId: string) {
    const [row] = await owner.query<{ epoch: string }>('select epoch from org_epochs where org_id = $1', [
      orgId,
    ]);
    const org: OrgScope = {
      id: orgId,
      path: [orgId],
      epoch: Number(row?.epoch),
      timezone: null,
      defaultLocale: 'en',
      deletedAt: null,
    };
    const grants = [{ orgId, role: 'admin' as const }];
    const principal: UserPrincipal = { kind: 'user', userId: 'U', grants, sessionId: 'S' };
    const call: Call = {
      correlationId: ulid(),
      source: 'api',
      principal,
      session: null,
      ip: null,
      userAgent: null,
      idempotencyKey: null,
      confirmation: null,
    };
    return engine.execute(call, org, { entityId: building.entityId, actionId, payload: {} });
  }
  const jobs = () => owner.query('select entity_id from close_jobs where org_id = $1', [orgId]);
  const due = (inSeconds: number) =>
    owner.query(`update close_jobs set due_at = now() + $2 * interval '1 second' where org_id = $1`, [
      orgId,
      inSeconds,
    ]);
  /** What was claimed and missed comes back after seconds. */
  const closed = () => eventually(async () => (await jobs()).length === 0, 25_000);
  const stopAll = async () => {
    for (const engine of running.splice(0)) await engine.stop();
  };
  const automaticEvents = () =>
    owner.query<{ outcome: string }>(
      `select outcome from audit_events where org_id = $1 and details ->> 'automatic' = 'true' order by occurred_at`,
      [orgId],
    );

  it('are closed after the time, once, with an event of the system', async () => {
    const engine = await startEngine();
    await act(engine, 'open');
    // Both rows are of one transaction.
    const times = await owner.query<{ seconds: number }>(
      `select extract(epoch from j.due_at - i.created_at)::float8 as seconds
       from close_jobs j join intents i on i.org_id = j.org_id and i.entity_id = j.entity_id where j.org_id = $1`,
      [orgId],
    );
    expect(times).toEqual([{ seconds: pulseSeconds }]);
    expect(sent).toEqual(['open']);
    await due(0);
    await closed();
    expect(sent).toEqual(['open', 'close']);
    expect(await automaticEvents()).toEqual([{ outcome: 'succeeded' }]);
  });

  it('are closed by the next node when the one that opened is gone', async () => {
    const engine = await startEngine();
    await act(engine, 'open');
    await stopAll();
    expect(sent).toEqual(['open']);
    await due(0);
    await startEngine();
    await closed();
    expect(sent).toEqual(['open', 'close']);
  });

  it('stay due until a close was delivered, and every failed try is in the audit log', async () => {
    const engine = await startEngine();
    await act(engine, 'open');
    answer = async () => {
      // It comes back when the test says so.
      await due(pulseSeconds);
      return { kind: 'not_sent', reason: 'away' };
    };
    await due(0);
    await eventually(async () => (await automaticEvents()).length > 0);
    expect(sent).toEqual(['open', 'close']);
    expect(await jobs()).toHaveLength(1);
    answer = () => ({ kind: 'delivered', observed: null });
    await due(0);
    await closed();
    expect((await automaticEvents()).map((event) => event.outcome)).toEqual(['failed', 'succeeded']);
  });

  it('need no closing any more when somebody has closed them', async () => {
    const engine = await startEngine();
    await act(engine, 'open');
    expect(await jobs()).toHaveLength(1);
    await act(engine, 'close');
    expect(await jobs()).toHaveLength(0);
  });

  it('are closed once by two nodes that look at the same moment', async () => {
    const engine = await startEngine();
    await startEngine();
    await act(engine, 'open');
    await due(0);
    await closed();
    // Whatever the other one has claimed is sent by then.
    await stopAll();
    expect(sent).toEqual(['open', 'close']);
  });
});

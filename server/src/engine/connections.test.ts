import { Type } from 'typebox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { lonelyCluster } from '../../test/support/lonely-cluster.ts';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts';
import { type BuildingIds, createWorld } from '../../test/support/test-world.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { systemClock } from '../kernel/clock.ts';
import { createLogger } from '../kernel/logger.ts';
import { Secret } from '../kernel/secret.ts';
import type { EntityBinding, Link, ProviderContext, ProviderDefinition } from '../providers/provider.ts';
import { type Connections, createConnections } from './connections.ts';
import type { LinkSecrets } from './live-connections.ts';

interface Dialled {
  readonly link: Link;
  readonly context: ProviderContext;
  bound: readonly EntityBinding[][];
  isOpen: boolean;
}

describe('connections', () => {
  let owner: TestDatabase;
  let db: Database;
  let orgId: string;
  let one: BuildingIds;
  let other: BuildingIds;
  let connections: Connections;
  let dialled: Dialled[];
  let secrets: LinkSecrets;
  const reported: unknown[] = [];

  beforeAll(async () => {
    owner = await createTestDatabase(inject('ownerUrl'));
    db = createDatabase({ url: owner.url, maxConnections: 4, onError: () => undefined });
  });
  afterAll(async () => {
    await db.close();
    await owner.drop();
  });
  beforeEach(async () => {
    dialled = [];
    secrets = { version: 1, values: { token: new Secret('first') } };
    orgId = await createWorld(owner).org();
    one = await createWorld(owner).building(orgId);
    other = await createWorld(owner).building(orgId);
    connections = createConnections({
      // A look at the leases every few hours: none gives one back in the middle of a test.
      leases: lonelyCluster(db, owner.url, 86_400_000).leases,
      db,
      clock: systemClock,
      logger: createLogger({ level: 'silent' }),
      dataDir: '/nowhere',
      definitions: new Map([['virtual_demo', recordingProvider(dialled)]]),
      secretsOf: async () => secrets,
      reports: { take: (report) => reported.push(report), settled: async () => undefined },
    });
    await connections.start();
  });
  afterEach(() => connections.close());

  const openLinks = () => dialled.filter((entry) => entry.isOpen && entry.link.orgId === orgId);
  const linkOf = (building: BuildingIds) =>
    openLinks().find((entry) => entry.link.integrationId === building.integrationId);
  /** Asking for a connection with another configuration makes it look, without waiting for the timer. */
  const look = () =>
    connections.use(
      { orgId, integrationId: one.integrationId, providerType: 'virtual_demo', config: { look: 1 } },
      null,
      async () => undefined,
    );

  it('dials every enabled integration, with its secrets and its entities', () => {
    expect(openLinks()).toHaveLength(2);
    expect(
      linkOf(one)
        ?.bound.at(-1)
        ?.map((entity) => entity.entityId),
    ).toEqual([one.entityId]);
    expect(linkOf(one)?.link.secrets.token?.reveal()).toBe('first');
  });

  it('keeps a connection through the edits of another integration', async () => {
    const before = linkOf(other);
    await owner.query(`update integrations set config = '{"latency_ms": 1}' where id = $1`, [
      one.integrationId,
    ]);
    await look();
    expect(linkOf(one)?.link.config).toEqual({ latency_ms: 1 });
    expect(linkOf(other)).toBe(before);
    expect(before?.bound).toHaveLength(1);
  });

  it('tells a connection its entities again when one is added, without dialling anew', async () => {
    const before = linkOf(one);
    await owner.query(
      `insert into entities (org_id, id, device_id, entity_type) select org_id, replace(id, substr(id, 20), '0000000'), device_id, 'light'
       from entities where id = $1`,
      [one.entityId],
    );
    await look();
    expect(linkOf(one)).toBe(before);
    expect(before?.bound.at(-1)).toHaveLength(2);
  });

  it('tells a connection of an entity before the first command to it', async () => {
    const link = { orgId, integrationId: one.integrationId, providerType: 'virtual_demo', config: {} };
    const [known] = linkOf(one)?.bound.at(-1) ?? [];
    if (known === undefined) throw new Error('nothing was bound');
    const bound = () => linkOf(one)?.bound.map((entities) => entities.map(({ metadata }) => metadata));
    await connections.use(link, known, async () => expect(bound()).toEqual([[{}]]));
    const metadata = { command_topic: 'door/set' };
    await owner.query('update entities set metadata = $2 where id = $1', [one.entityId, metadata]);
    await connections.use(link, { ...known, metadata }, async () =>
      expect(bound()).toEqual([[{}], [metadata]]),
    );
  });

  it('dials anew when a secret has changed', async () => {
    const before = linkOf(one);
    secrets = { version: 2, values: { token: new Secret('second') } };
    await look();
    expect(before?.isOpen).toBe(false);
    expect(linkOf(one)?.link.secrets.token?.reveal()).toBe('second');
  });

  it.each([
    ['paused', 'update integrations set enabled = false where id = $1'],
    ['deleted', 'update integrations set deleted_at = now() where id = $1'],
  ])('holds no connection of an integration that is %s', async (_how, change) => {
    await owner.query(change, [one.integrationId]);
    expect(await look()).toBe('none');
    expect(linkOf(one)).toBeUndefined();
    expect(connections.health(one.integrationId)).toBeNull();
    expect(linkOf(other)).toBeDefined();
  });

  it('tells of an integration that can not be connected, and connects the others', async () => {
    await owner.query(`update integrations set config = '{"must_not": 1}' where id = $1`, [
      one.integrationId,
    ]);
    expect(await look()).toBe('none');
    expect(connections.health(one.integrationId)).toBe('error');
    expect(linkOf(other)?.isOpen).toBe(true);
    await owner.query(`update integrations set config = '{}' where id = $1`, [one.integrationId]);
    await look();
    expect(connections.health(one.integrationId)).toBe('ok');
  });

  it('hangs up everything when it ends', async () => {
    await connections.close();
    expect(openLinks()).toEqual([]);
  });

  it('passes on what a device reports, with its organization', () => {
    linkOf(one)?.context.onState(one.entityId, 'open');
    expect(reported.at(-1)).toEqual({
      orgId,
      entityId: one.entityId,
      status: 'open',
      source: 'virtual_demo',
    });
  });
});

function recordingProvider(dialled: Dialled[]): ProviderDefinition {
  const anything = Type.Object({});
  return {
    manifest: {
      type: 'virtual_demo',
      label: { en: 'Recording' },
      config: Type.Object({ must_not: Type.Optional(Type.Null()) }),
      secrets: anything,
      deviceMetadata: anything,
      entityMetadata: anything,
      actions: ['open'],
      deviceExternalId: 'optional',
      entityExternalId: 'optional',
      defaultMinIntervalMs: 0,
      defaultPulseSeconds: () => null,
    },
    connect(link, context) {
      const entry: Dialled = { link, context, bound: [], isOpen: true };
      dialled.push(entry);
      return {
        actions: {},
        health: () => 'ok',
        bind: (entities) => {
          entry.bound = [...entry.bound, [...entities]];
        },
        close: async () => {
          entry.isOpen = false;
        },
      };
    },
  };
}

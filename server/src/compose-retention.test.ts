import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../test/support/test-app.ts';
import { type BuildingIds, rootAdminId, rootOrgId } from '../test/support/test-world.ts';
import { findOrgScope } from './auth/principal.store.ts';
import { composeRetention } from './compose-retention.ts';
import { readConfig } from './config.ts';
import type { ExpiredRecords } from './jobs/expired-records.ts';
import type { Handlers } from './kernel/handler.ts';
import { createLogger } from './kernel/logger.ts';

describe('deleted records', () => {
  let app: TestApp;
  let retention: ExpiredRecords;
  let orgId: string;
  let token: string;
  let building: BuildingIds;

  beforeAll(async () => {
    let handlers: Handlers | null = null;
    app = await startTestApp({
      // Its own sweep, a minute after the start, would take what the tests count.
      env: { LINTEL_RETENTION_DAYS: '0' },
      wrapHandlers: (real) => {
        handlers = real;
        return real;
      },
    });
    const { db } = app.app;
    const orgScope = (id: string) => db.asService((tx) => findOrgScope(tx, id));
    retention = composeRetention(
      {
        config: readConfig({}),
        db,
        logger: createLogger({ level: 'silent' }),
        rootOrgId,
        credentials: { orgScope },
      },
      handlers as unknown as Handlers,
    );
    orgId = await app.world.org();
    building = await app.world.building(orgId);
    token = (await app.world.key(orgId, rootAdminId)).token;
  });
  afterAll(() => app.close());

  const deletedDaysAgo = (table: string, id: string, days: number) =>
    app.db.query(`update ${table} set deleted_at = now() - make_interval(days => $2) where id = $1`, [
      id,
      days,
    ]);
  const isThere = async (table: string, id: string) =>
    (await app.db.query(`select 1 from ${table} where id = $1`, [id])).length === 1;

  it('say when they will be gone for good, and no longer do when restored', async () => {
    // Nobody has told this one for how long: that is thirty days.
    const node = await app.secondNode({ env: {} });
    const zone = `/zones/${building.zoneId}`;
    await node.request('DELETE', `/entities/${building.entityId}`, { token });
    const { body } = await node.request('DELETE', zone, { token });
    const deletedAt = new Date(String(body.deleted_at));
    const expected = new Date(deletedAt.getTime() + 30 * 86_400_000).toISOString();
    expect([body.purge_at, body.hard_delete_at]).toEqual([expected, expected]);
    const restored = await node.request('POST', `${zone}/restore`, { token });
    expect(Object.keys(restored.body)).not.toContain('purge_at');
    await node.request('POST', `/entities/${building.entityId}/restore`, { token });
    await node.close();
  });

  it('stay for thirty days, then go with their secrets, in the order of what hangs on what', async () => {
    const made = await app.request('POST', '/integrations', {
      token,
      body: {
        provider_type: 'mqtt',
        config: { broker_host: 'broker.invalid' },
        secrets: { username: 'u', password: 'p' },
      },
    });
    expect(made.status, made.text).toBe(201);
    const integrationId = String(made.body.id);
    await app.request('DELETE', `/integrations/${building.integrationId}?recursive=true`, { token });
    await app.request('DELETE', `/integrations/${integrationId}`, { token });
    await deletedDaysAgo('integrations', integrationId, 29);
    expect(await retention.sweep()).toBe(0);

    for (const [table, id] of [
      ['entities', building.entityId],
      ['devices', building.deviceId],
      ['zones', building.zoneId],
      ['integrations', building.integrationId],
      ['integrations', integrationId],
    ] as const)
      await deletedDaysAgo(table, id, 31);
    expect(await retention.sweep()).toBe(5);
    expect(await isThere('integrations', integrationId)).toBe(false);
    const secrets = await app.db.query('select 1 from secrets.secret_values where integration_id = $1', [
      integrationId,
    ]);
    expect(secrets).toEqual([]);
    const events = await app.db.query(
      `select event_type, actor_kind, source from audit_events where org_id = $1 and event_type like '%.purged'
       order by id`,
      [orgId],
    );
    expect(events).toHaveLength(5);
    expect(events).toContainEqual({ event_type: 'entity.purged', actor_kind: 'system', source: 'system' });
  });

  it('stay longer where a rule keeps them, and do not keep others from going', async () => {
    const kept = await app.world.building(orgId);
    // As if its integration was deleted and then given a device by hand: not for the job to decide.
    await deletedDaysAgo('integrations', kept.integrationId, 40);
    const person = await app.world.user();
    await deletedDaysAgo('users', person, 40);
    const child = await app.world.org({ parentId: orgId });
    await deletedDaysAgo('orgs', child, 40);
    expect(await retention.sweep()).toBe(2);
    expect(await isThere('integrations', kept.integrationId)).toBe(true);
    expect([await isThere('users', person), await isThere('orgs', child)]).toEqual([false, false]);
  });
});

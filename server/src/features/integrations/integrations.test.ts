import type { Integration } from '@lintel/contract/integrations';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { soon } from '../../../test/support/eventually.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('integrations', () => {
  let app: TestApp;
  let orgId: string;
  let userId: string;
  let token: string;
  let demo: BuildingIds;
  let knxId: string;

  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org();
    userId = await app.world.user();
    await app.world.grant(orgId, userId, 'integrations:list');
    token = (await app.world.key(orgId, userId)).token;
    demo = await app.world.building(orgId, { config: { latency_ms: 5 } });
    knxId = ulid();
    await app.db.query(
      `insert into integrations (org_id, id, provider_type, name, enabled) values ($1, $2, 'not_here', $3, false)`,
      [orgId, knxId, { en: 'Bus', de: 'Gebäudebus' }],
    );
  });
  afterAll(() => app.close());

  const list = async (query = '', as = token) => {
    const answer = await app.request('GET', `/integrations?${query}`, { token: as });
    expect(answer.status, answer.text).toBe(200);
    return { items: answer.body.items as Integration[], total: answer.body.total };
  };
  const ids = async (query: string, as = token) => (await list(query, as)).items.map(({ id }) => id);

  it('lists what is live in the order of creation, with the provider’s name and health', async () => {
    // A connection is made within a second.
    await expect.poll(async () => (await list()).items[0]?.health, soon).toBe('ok');
    const { items, total } = await list();
    expect([items.map(({ id }) => id), total]).toEqual([[demo.integrationId, knxId], 2]);
    expect(items[0]).toMatchObject({
      org_id: orgId,
      provider_type: 'virtual_demo',
      provider_type_name: { en: expect.any(String) },
      name: { en: 'Demo' },
      enabled: true,
      health: 'ok',
      config: { latency_ms: 5 },
    });
    expect(items[1]).toMatchObject({
      provider_type_name: { en: 'not_here' },
      enabled: false,
      health: 'error',
      config: {},
    });
  });

  it('filters by provider, by name in any locale, and by deletion', async () => {
    expect(await ids('provider_type=virtual_demo')).toEqual([demo.integrationId]);
    expect(await ids('provider_type=virtual')).toEqual([]);
    expect(await ids('q=GEBÄUDE')).toEqual([knxId]);
    expect(await list('limit=1')).toMatchObject({ total: 2, items: [{ id: demo.integrationId }] });
    const goneId = (await app.world.building(orgId)).integrationId;
    await app.db.query('update integrations set deleted_at = now() where id = $1', [goneId]);
    expect(await ids('')).not.toContain(goneId);
    expect(await ids('include_deleted=true')).toEqual([demo.integrationId, knxId, goneId]);
    expect(await ids('only_deleted=true')).toEqual([goneId]);
  });

  it('a key limited to entities sees their integrations only', async () => {
    const limited = (await app.world.key(orgId, userId, { scopedEntityIds: [demo.entityId] })).token;
    expect(await list('', limited)).toMatchObject({ total: 1, items: [{ id: demo.integrationId }] });
  });

  it('another organization’s integrations are not there', async () => {
    const foreign = await app.world.building(await app.world.org());
    expect(await ids('include_deleted=true')).not.toContain(foreign.integrationId);
  });

  it('tells anybody with a credential which providers there are, and what they need', async () => {
    const unrelated = (await app.world.key(orgId, userId, { scopedRoles: [] })).token;
    const types = await app.request('GET', '/integrations/provider-types', { token: unrelated });
    expect(types.status, types.text).toBe(200);
    expect(types.body).toEqual(
      expect.arrayContaining([{ provider_type: 'virtual_demo', provider_type_name: { en: 'Virtual demo' } }]),
    );
    for (const { provider_type: type } of types.body as unknown as { provider_type: string }[]) {
      const path = `/integrations/provider-types/${type}/definition`;
      const answer = await app.request('GET', path, { token: unrelated });
      expect([type, answer.status, answer.body.provider_type]).toEqual([type, 200, type]);
      expect(answer.body.config_schema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(answer.text).not.toContain('~');
    }
    const demo = await app.request('GET', '/integrations/provider-types/virtual_demo/definition', {
      token: unrelated,
    });
    expect(demo.body).toMatchObject({
      config_schema: { properties: { latency_ms: { type: 'integer', maximum: 60_000 } } },
      secrets_schema: { properties: {} },
      actions: expect.arrayContaining(['open', 'close']),
    });
    const unknown = await app.request('GET', '/integrations/provider-types/steam/definition', { token });
    expect(unknown.status).toBe(404);
    for (const path of [
      '/integrations/provider-types',
      '/integrations/provider-types/virtual_demo/definition',
    ])
      expect((await app.request('GET', path)).status).toBe(401);
  });
});

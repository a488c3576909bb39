import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { soon } from '../../../test/support/eventually.ts';
import { lockedProvider } from '../../../test/support/locked-provider.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId } from '../../../test/support/test-world.ts';
import type { Link } from '../../providers/provider.ts';
import { providerDefinitions } from '../../providers/registry.ts';

describe('integrations are changed', () => {
  let app: TestApp;
  let orgId: string;
  let token: string;
  const links: Link[] = [];

  beforeAll(async () => {
    app = await startTestApp({
      providerDefinitions: new Map([...providerDefinitions, ['locked', lockedProvider(links)]]),
    });
    orgId = await app.world.org();
    token = (await app.world.key(orgId, rootAdminId)).token;
  });
  afterAll(() => app.close());

  const config = { base_url: 'http://hub.test' };
  const secrets = { token: 'first token', user: 'ada' };
  const send = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) =>
    app.request(method, `/integrations${path}`, { token, ...(body === undefined ? {} : { body }) });
  const create = async (body: object = {}) => {
    const answer = await send('POST', '', { provider_type: 'locked', config, secrets, ...body });
    expect(answer.status, answer.text).toBe(201);
    return String(answer.body.id);
  };
  const secretsOf = async (id: string) => (await send('GET', `/${id}/secrets`)).body;
  const lastEvent = async (id: string) => {
    const [event] = await app.db.query<{ event_type: string; details: object }>(
      'select event_type, details from audit_events where resource_id = $1 order by id desc limit 1',
      [id],
    );
    return event;
  };

  it('by making one: named by its provider unless named, live unless said, without its secrets', async () => {
    const answer = await send('POST', '', { provider_type: 'locked', config, secrets });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      org_id: orgId,
      provider_type: 'locked',
      provider_type_name: { en: 'Locked' },
      name: { en: 'Locked', de: 'Verschlossen' },
      enabled: true,
      config,
    });
    expect(answer.body).not.toHaveProperty('secrets');
    const id = String(answer.body.id);
    expect(await lastEvent(id)).toMatchObject({
      event_type: 'integration.created',
      details: { provider_type: 'locked' },
    });
    expect((await send('GET', `/${id}`)).body).toMatchObject({ id, config });
    const named = await send('POST', '', {
      provider_type: 'virtual_demo',
      name: ' Gate ',
      enabled: false,
      config: null,
    });
    expect(named.body).toMatchObject({ name: { en: 'Gate' }, enabled: false, config: {} });
  });

  it.each<[string, object, string]>([
    ['an unknown provider', { provider_type: 'steam' }, '/provider_type'],
    ['a missing member of the config', { config: {} }, '/config/base_url'],
    ['no config at all', { config: null }, '/config/base_url'],
    ['an unknown member of the config', { config: { ...config, token: 'x' } }, '/config/token'],
    [
      'a wrong member of the config',
      { config: { ...config, min_interval_ms: -1 } },
      '/config/min_interval_ms',
    ],
    ['a missing secret', { secrets: { user: 'ada' } }, '/secrets/token'],
    ['an unknown secret', { secrets: { ...secrets, pin: '1' } }, '/secrets/pin'],
    ['a secret of the wrong shape', { secrets: { token: 'abc' } }, '/secrets/token'],
    ['another organization', { org_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }, '/org_id'],
    ['a config that is too large', { config: { base_url: 'x'.repeat(20_000) } }, '/config'],
    ['a name of nothing', { name: ' ' }, '/name'],
  ])('but not made with %s', async (_, change, path) => {
    const body = { provider_type: 'locked', config, secrets, ...change };
    const answer = await send('POST', '', body);
    expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, path]);
    expect(answer.text).not.toContain('first token');
  });

  const replaced = { base_url: 'http://other.test' };
  const newSecrets = { token: 'second token' };
  it.each([
    ['nothing', {}, config, secrets, []],
    ['a cleared config', { config: null }, {}, secrets, ['config']],
    ['a replaced config', { config: replaced }, replaced, secrets, ['config']],
    ['cleared secrets', { secrets: null }, config, {}, ['secrets']],
    ['replaced secrets', { secrets: newSecrets }, config, newSecrets, ['secrets']],
    ['both cleared', { config: null, secrets: null }, {}, {}, ['config', 'secrets']],
    ['one each', { config: replaced, secrets: null }, replaced, {}, ['config', 'secrets']],
    ['the other way', { config: null, secrets: newSecrets }, {}, newSecrets, ['config', 'secrets']],
  ])('by %s', async (_, body, wantedConfig, wantedSecrets, changed) => {
    const id = await create();
    const answer = await send('PUT', `/${id}`, body);
    expect([answer.status, answer.body.config]).toEqual([200, wantedConfig]);
    expect(await lastEvent(id)).toEqual({
      event_type: 'integration.updated',
      details: { changed, resource_name: 'Locked' },
    });
    expect(await secretsOf(id)).toEqual(wantedSecrets);
    expect((await send('GET', `/${id}`)).body.config).toEqual(wantedConfig);
  });

  it('by a new name, by pausing, and by its own kind of provider but no other', async () => {
    const id = await create();
    const change = { name: { de: 'Tor' }, enabled: false, provider_type: 'locked' };
    const answer = await send('PUT', `/${id}`, change);
    expect(answer.body).toMatchObject({ name: { de: 'Tor' }, enabled: false, config });
    expect((await send('PUT', `/${id}`, { name: null, enabled: null })).body).toMatchObject({
      name: { en: 'Locked' },
      enabled: false,
    });
    const other = await send('PUT', `/${id}`, { provider_type: 'virtual_demo', secrets: null });
    expect([other.status, other.body.details?.[0]?.path]).toEqual([400, '/provider_type']);
    const wrong = await send('PUT', `/${id}`, { config: replaced, secrets: { token: 'abc' } });
    expect([wrong.status, wrong.body.details?.[0]?.path]).toEqual([400, '/secrets/token']);
    expect((await send('GET', `/${id}`)).body.config).toEqual(config);
    expect(await secretsOf(id)).toEqual(secrets);
  });

  it('and their connections get the new secrets', async () => {
    const id = await create();
    const seen = () => links.filter(({ integrationId }) => integrationId === id).at(-1)?.secrets;
    await expect.poll(() => seen()?.token?.reveal(), soon).toBe('first token');
    await send('PUT', `/${id}`, { secrets: newSecrets });
    await expect.poll(() => seen()?.token?.reveal(), soon).toBe('second token');
    expect(seen()).not.toHaveProperty('user');
  });

  it('by deleting and restoring them, with their secrets kept', async () => {
    const id = await create();
    expect((await send('POST', `/${id}/restore`)).body).toMatchObject({ code: 'not_deleted' });
    const deleted = await send('DELETE', `/${id}`);
    expect([deleted.status, typeof deleted.body.deleted_at]).toEqual([200, 'string']);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/secrets'],
      ['DELETE', ''],
    ] as const)
      expect((await send(method, `/${id}${path}`)).status).toBe(404);
    expect((await send('PUT', `/${id}`, { enabled: false })).status).toBe(404);
    expect((await send('GET', `/${id}?include_deleted=true`)).status).toBe(200);
    const restored = await send('POST', `/${id}/restore`);
    expect([restored.status, restored.body.deleted_at]).toEqual([200, undefined]);
    expect(await secretsOf(id)).toEqual(secrets);
  });

  it('and not deleted under what hangs on them, unless that goes along', async () => {
    const building = await app.world.building(orgId);
    const id = building.integrationId;
    const refused = await send('DELETE', `/${id}`);
    expect([refused.status, refused.body.code]).toEqual([422, 'has_children']);
    expect((await send('DELETE', `/${id}?recursive=true`)).status).toBe(200);
    expect((await lastEvent(id))?.details).toMatchObject({ zones: 1, devices: 1, entities: 1 });
    const live = await app.db.query(
      `select id from entities where device_id = $1 and deleted_at is null
       union all select id from devices where integration_id = $2 and deleted_at is null
       union all select id from zones where integration_id = $2 and deleted_at is null`,
      [building.deviceId, id],
    );
    expect(live).toEqual([]);
    const purge = await send('DELETE', `/${id}/purge`);
    expect([purge.status, purge.body.code]).toEqual([422, 'has_children']);
    expect((await send('DELETE', `/${id}/purge?recursive=true`)).status).toBe(200);
    expect((await send('GET', `/${id}?include_deleted=true`)).status).toBe(404);
    const left = await app.db.query('select id from devices where id = $1', [building.deviceId]);
    expect(left).toEqual([]);
  });

  it('by removing them for good: the secrets are gone, the event stays', async () => {
    const id = await create();
    const purged = await send('DELETE', `/${id}/purge`);
    expect([purged.status, purged.body.id]).toEqual([200, id]);
    const rows = await app.db.query(
      `select integration_id from secrets.secret_values where integration_id = $1
       union all select integration_id from secrets.integration_secrets where integration_id = $1`,
      [id],
    );
    expect(rows).toEqual([]);
    expect(await lastEvent(id)).toMatchObject({ event_type: 'integration.purged' });
  });

  it('by nobody who is limited to certain entities', async () => {
    const { integrationId, entityId } = await app.world.building(orgId);
    const limited = (await app.world.key(orgId, rootAdminId, { scopedEntityIds: [entityId] })).token;
    const as = { token: limited };
    expect((await app.request('GET', `/integrations/${integrationId}`, as)).status).toBe(200);
    expect((await app.request('GET', `/integrations/${await create()}`, as)).status).toBe(404);
    expect((await app.request('GET', `/integrations/${integrationId}/secrets`, as)).status).toBe(403);
    const put = { ...as, body: { enabled: false } };
    expect((await app.request('PUT', `/integrations/${integrationId}`, put)).status).toBe(403);
    const post = { ...as, body: { provider_type: 'virtual_demo' } };
    expect((await app.request('POST', '/integrations', post)).status).toBe(403);
  });
});

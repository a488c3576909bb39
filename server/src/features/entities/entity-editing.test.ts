import type { Entity } from '@lintel/contract/entities';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('editing entities', () => {
  let app: TestApp;
  let orgId: string;
  let building: BuildingIds;
  let token: string;

  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org();
    building = await app.world.building(orgId, { enabled: false });
    token = (await app.world.key(orgId, rootAdminId)).token;
  });
  afterAll(() => app.close());

  const send = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) =>
    app.request(method, path, { token, ...(body ? { body } : {}) });
  const bodyOf = (more: object = {}) => ({
    device_id: building.deviceId,
    entity_type: 'switch',
    ...more,
  });
  const make = async (more: object = {}): Promise<Entity> => {
    const answer = await send('POST', '/entities', bodyOf(more));
    expect(answer.status, answer.text).toBe(201);
    return answer.body as unknown as Entity;
  };
  const change = async (id: string, body: object, method: 'PUT' | 'PATCH' = 'PUT') => {
    const answer = await send(method, `/entities/${id}`, body);
    expect(answer.status, answer.text).toBe(200);
    return answer.body as unknown as Entity;
  };
  const refusal = async (answer: ReturnType<typeof send>) => {
    const { status, body } = await answer;
    return [status, body.code, ...(body.details ?? []).map(({ path }) => path)];
  };

  it('creates one with all that is given', async () => {
    const entity = await make({
      entity_type: 'directory_listing',
      name: ' Bell ',
      external_id: '1/2/3',
      zone_id: building.zoneId,
      channel_index: 2,
      metadata: { note: 'x', pulse: 1.5, tags: ['a'], nothing: null },
    });
    const metadata = { note: 'x', pulse: '1.5', tags: '["a"]', channel_index: '2' };
    expect(entity).toEqual({
      id: entity.id,
      device_id: building.deviceId,
      entity_type: 'directory_listing',
      name: 'Bell',
      external_id: '1/2/3',
      zone_id: building.zoneId,
      metadata,
      entity_metadata: metadata,
      state: { status: 'unknown' },
      created_at: entity.created_at,
      updated_at: entity.created_at,
    });
    expect((await send('GET', `/entities/${entity.id}`)).body).toEqual(entity);
  });

  it('creates one with a device and a type only', async () => {
    expect(await make()).toMatchObject({ name: null, external_id: null, zone_id: null, metadata: {} });
  });

  it.each([
    ['device_id', () => ulid(), '/device_id'],
    ['zone_id', () => ulid(), '/zone_id'],
    ['entity_type', () => 'apartment', '/entity_type'],
    ['channel_index', () => -1, '/channel_index'],
    ['name', () => '\u202e', '/name'],
    ['metadata', () => ({ a: 'x'.repeat(17_000) }), '/metadata'],
    ['org_id', () => orgId, '/org_id'],
  ])('creates none with a wrong %s', async (field, value, path) => {
    const [status, code, where] = await refusal(send('POST', '/entities', bodyOf({ [field]: value() })));
    expect([status, code, where]).toEqual([400, 'validation_error', path]);
  });

  it('creates none of a deleted device, of a deleted integration, in a deleted zone', async () => {
    const site = await app.world.building(orgId);
    const zone = await send('POST', '/zones', { integration_id: site.integrationId, name: 'x' });
    await send('DELETE', `/zones/${String(zone.body.id)}`);
    expect(await refusal(send('POST', '/entities', bodyOf({ zone_id: zone.body.id })))).toEqual([
      400,
      'validation_error',
      '/zone_id',
    ]);
    const noDevice = [400, 'validation_error', '/device_id'];
    const onSite = () => refusal(send('POST', '/entities', bodyOf({ device_id: site.deviceId })));
    await app.db.query('update integrations set deleted_at = now() where id = $1', [site.integrationId]);
    expect(await onSite()).toEqual(noDevice);
    await app.db.query('update integrations set deleted_at = null where id = $1', [site.integrationId]);
    await app.db.query('update devices set deleted_at = now() where id = $1', [site.deviceId]);
    expect(await onSite()).toEqual(noDevice);
  });

  it('keeps what a PUT leaves out, clears what is null, replaces the rest', async () => {
    const entity = await make({
      name: 'Door',
      external_id: 'tri',
      zone_id: building.zoneId,
      channel_index: 4,
      metadata: { a: '1' },
    });
    expect(await change(entity.id, { entity_type: 'light' })).toMatchObject({
      entity_type: 'light',
      name: 'Door',
      external_id: 'tri',
      zone_id: building.zoneId,
      metadata: { a: '1', channel_index: '4' },
    });
    expect((await change(entity.id, { channel_index: 5 })).metadata).toEqual({ a: '1', channel_index: '5' });
    expect((await change(entity.id, { metadata: { b: 2 } })).metadata).toEqual({ b: '2' });
    expect((await change(entity.id, { name: '  ' })).name).toBeNull();
    const cleared = { name: null, external_id: null, zone_id: null, channel_index: null, metadata: null };
    expect(await change(entity.id, cleared)).toMatchObject({
      name: null,
      external_id: null,
      zone_id: null,
      metadata: {},
      entity_type: 'light',
    });
    expect((await send('PUT', `/entities/${entity.id}`, { entity_type: null })).status).toBe(400);
    expect((await send('PUT', `/entities/${entity.id}`, { zone_id: ulid() })).status).toBe(400);
  });

  it('merges metadata with PATCH and leaves everything else alone', async () => {
    const entity = await make({ name: 'Door', metadata: { keep: 'k', drop: 'd', change: 'c' } });
    const patched = await change(entity.id, { metadata: { drop: null, change: 1, add: true } }, 'PATCH');
    expect(patched).toMatchObject({ name: 'Door', metadata: { keep: 'k', change: '1', add: 'true' } });
    expect(patched.metadata).not.toHaveProperty('drop');
    const wrong = await send('PATCH', `/entities/${entity.id}`, { metadata: {}, name: 'x' });
    expect(wrong.status).toBe(400);
  });

  it('loses no member when two merge at once', async () => {
    const { id } = await make();
    const names = Array.from({ length: 8 }, (_, index) => `m${index}`);
    await Promise.all(names.map((name) => change(id, { metadata: { [name]: 'x' } }, 'PATCH')));
    const { metadata } = (await send('GET', `/entities/${id}`)).body as unknown as Entity;
    expect(Object.keys(metadata).sort()).toEqual(names);
  });

  it('deletes, hides, restores', async () => {
    const { id } = await make({ external_id: 'back' });
    const gone = await send('DELETE', `/entities/${id}`);
    expect([gone.status, gone.body.deleted_at]).toEqual([200, expect.any(String)]);
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', { name: 'x' }],
      ['PATCH', { metadata: {} }],
      ['DELETE', undefined],
    ] as const)
      expect((await send(method, `/entities/${id}`, body)).status).toBe(404);
    const back = await send('POST', `/entities/${id}/restore`);
    expect([back.status, back.body.deleted_at]).toEqual([200, undefined]);
    expect(await refusal(send('POST', `/entities/${id}/restore`))).toEqual([422, 'not_deleted']);
  });

  it('restores none whose device or zone is deleted', async () => {
    const site = await app.world.building(orgId);
    const restore = () => refusal(send('POST', `/entities/${site.entityId}/restore`));
    await send('DELETE', `/entities/${site.entityId}`);
    await send('DELETE', `/zones/${site.zoneId}`);
    expect(await restore()).toEqual([422, 'parent_deleted']);
    await send('POST', `/zones/${site.zoneId}/restore`);
    await send('DELETE', `/devices/${site.deviceId}`);
    expect(await restore()).toEqual([422, 'parent_deleted']);
    await send('POST', `/devices/${site.deviceId}/restore`);
    expect(await restore()).toEqual([200, undefined]);
  });

  it('purges one, live or deleted, with what was last seen of it', async () => {
    for (const isDeleted of [false, true]) {
      const { id } = await make();
      await app.db.query(
        `insert into entity_states (org_id, entity_id, status, source, observed_at)
         values ($1, $2, 'open', 'test', now())`,
        [orgId, id],
      );
      if (isDeleted) await send('DELETE', `/entities/${id}`);
      expect((await send('DELETE', `/entities/${id}/purge`)).body).toMatchObject({ id });
      expect((await send('GET', `/entities/${id}?include_deleted=true`)).status).toBe(404);
      expect(await app.db.query('select from entity_states where entity_id = $1', [id])).toEqual([]);
    }
  });

  it('lets no two live ones of a device have the same external id', async () => {
    const first = await make({ external_id: 'one' });
    const second = await make({ external_id: 'two' });
    const taken = [409, 'already_exists'];
    expect(await refusal(send('POST', '/entities', bodyOf({ external_id: 'one' })))).toEqual(taken);
    expect(await refusal(send('PUT', `/entities/${second.id}`, { external_id: 'one' }))).toEqual(taken);
    await send('DELETE', `/entities/${first.id}`);
    await change(second.id, { external_id: 'one' });
    expect(await refusal(send('POST', `/entities/${first.id}/restore`))).toEqual(taken);
  });

  it('follows the rules of the provider', async () => {
    const board = await app.world.building(orgId);
    await app.db.query(`update integrations set provider_type = 'waveshare', enabled = false where id = $1`, [
      board.integrationId,
    ]);
    const create = (more: object) =>
      send('POST', '/entities', bodyOf({ device_id: board.deviceId, ...more }));
    expect(await refusal(create({}))).toEqual([400, 'validation_error', '/metadata/channel_index']);
    const refused = [400, 'validation_error', '/external_id'];
    expect(await refusal(create({ channel_index: 1, external_id: 'x' }))).toEqual(refused);
    const { status, body } = await create({ channel_index: 1, metadata: { auto_close: 3 } });
    expect([status, body.metadata]).toEqual([201, { channel_index: '1', auto_close: '3' }]);
    const id = String(body.id);
    expect(await refusal(send('PUT', `/entities/${id}`, { external_id: 'x' }))).toEqual(refused);
    expect(await refusal(send('PATCH', `/entities/${id}`, { metadata: { colour: 'red' } }))).toEqual([
      400,
      'validation_error',
      '/metadata/colour',
    ]);
    expect(await refusal(send('PUT', `/entities/${id}`, { channel_index: null }))).toEqual([
      400,
      'validation_error',
      '/metadata/channel_index',
    ]);
    // The old door has no channel, which the provider asks for now: a new name is no occasion to ask.
    expect((await change(board.entityId, { name: 'Still here' })).name).toBe('Still here');
  });

  it('lists those of a device and of an integration', async () => {
    const site = await app.world.building(orgId);
    const light = await make({ device_id: site.deviceId, entity_type: 'light' });
    const ids = async (path: string) => {
      const answer = await send('GET', path);
      expect(answer.status, answer.text).toBe(200);
      return (answer.body.items as Entity[]).map(({ id }) => id);
    };
    for (const base of [
      `/devices/${site.deviceId}/entities`,
      `/integrations/${site.integrationId}/entities`,
    ]) {
      expect(await ids(base)).toEqual([site.entityId, light.id]);
      expect(await ids(`${base}?entity_type=light,sensor`)).toEqual([light.id]);
      expect(await ids(`${base}?limit=1&offset=1`)).toEqual([light.id]);
      expect(await ids(`${base}?only_deleted=true`)).toEqual([]);
    }
    await send('DELETE', `/devices/${site.deviceId}?recursive=true`);
    expect(await ids(`/devices/${site.deviceId}/entities?only_deleted=true`)).toEqual([
      site.entityId,
      light.id,
    ]);
    expect(await ids(`/integrations/${site.integrationId}/entities`)).toEqual([]);
    expect((await send('GET', `/integrations/${ulid()}/entities`)).status).toBe(404);
    expect((await send('GET', `/devices/${ulid()}/entities`)).status).toBe(404);
  });

  it('lets a key for certain entities edit those, and make none', async () => {
    const mine = await make();
    const key = await app.world.key(orgId, rootAdminId, { scopedEntityIds: [mine.id] });
    const as = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
      (await app.request(method, path, { token: key.token, ...(body ? { body } : {}) })).status;
    expect(await as('PUT', `/entities/${mine.id}`, { name: 'Mine' })).toBe(200);
    expect(await as('PUT', `/entities/${building.entityId}`, { name: 'Mine' })).toBe(404);
    expect(await as('DELETE', `/entities/${building.entityId}/purge`)).toBe(404);
    expect(await as('POST', '/entities', bodyOf())).toBe(403);
  });
});

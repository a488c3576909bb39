import type { Zone } from '@lintel/contract/zones';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('zones', () => {
  let app: TestApp;
  let orgId: string;
  let building: BuildingIds;
  let token: string;

  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org();
    building = await app.world.building(orgId);
    token = (await app.world.key(orgId, rootAdminId)).token;
  });
  afterAll(() => app.close());

  const send = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) =>
    app.request(method, path, { token, ...(body ? { body } : {}) });
  const make = async (body: object = {}): Promise<Zone> => {
    const answer = await send('POST', '/zones', {
      integration_id: building.integrationId,
      name: 'Floor',
      ...body,
    });
    expect(answer.status, answer.text).toBe(201);
    return answer.body as unknown as Zone;
  };
  const change = async (id: string, body: object) => {
    const answer = await send('PUT', `/zones/${id}`, body);
    expect(answer.status, answer.text).toBe(200);
    return answer.body as unknown as Zone;
  };
  const refusal = async (answer: ReturnType<typeof send>) => {
    const { status, body } = await answer;
    return [status, body.code, body.details?.[0]?.path];
  };
  const list = async (query = '', integrationId = building.integrationId) => {
    const { body } = await send('GET', `/integrations/${integrationId}/zones?${query}`);
    return (body.items as Zone[]).map(({ id }) => id);
  };

  it('are created with all there is, and read back', async () => {
    const zone = await make({
      name: { value: { de: ' Keller ', en: 'Basement' } },
      parent_zone_id: building.zoneId,
      external_id: 'b1',
    });
    expect(zone).toEqual({
      id: zone.id,
      integration_id: building.integrationId,
      name: { de: 'Keller', en: 'Basement' },
      parent_zone_id: building.zoneId,
      external_id: 'b1',
      created_at: zone.created_at,
      updated_at: zone.created_at,
    });
    expect((await send('GET', `/zones/${zone.id}`)).body).toEqual(zone);
    await change(zone.id, { external_id: null });
  });

  it('keep what an update leaves out and lose what it clears', async () => {
    const zone = await make({ parent_zone_id: building.zoneId, external_id: 'tri' });
    expect(await change(zone.id, { name: 'Attic' })).toMatchObject({
      name: { en: 'Attic' },
      parent_zone_id: building.zoneId,
      external_id: 'tri',
    });
    await app.db.query(`update zones set updated_at = '2020-01-01Z' where id = $1`, [zone.id]);
    const cleared = await change(zone.id, { parent_zone_id: null, external_id: null });
    expect(cleared).toMatchObject({ name: { en: 'Attic' }, parent_zone_id: null, external_id: null });
    expect(cleared.updated_at).not.toBe('2020-01-01T00:00:00.000Z');
    expect(await refusal(send('PUT', `/zones/${zone.id}`, { name: null }))).toEqual([
      400,
      'validation_error',
      '/name',
    ]);
  });

  it('are in a live integration of the organization', async () => {
    const foreign = await app.world.building(await app.world.org());
    for (const integration_id of [foreign.integrationId, ulid()]) {
      expect(await refusal(send('POST', '/zones', { integration_id, name: 'x' }))).toEqual([
        400,
        'validation_error',
        '/integration_id',
      ]);
    }
  });

  it('are below a live zone of the same integration only', async () => {
    const other = await app.world.building(orgId);
    const deleted = await make();
    await send('DELETE', `/zones/${deleted.id}`);
    const zone = await make();
    for (const parent_zone_id of [other.zoneId, deleted.id, ulid()]) {
      const wanted = [400, 'validation_error', '/parent_zone_id'];
      expect(await refusal(send('PUT', `/zones/${zone.id}`, { parent_zone_id }))).toEqual(wanted);
      const body = { integration_id: building.integrationId, name: 'x', parent_zone_id };
      expect(await refusal(send('POST', '/zones', body))).toEqual(wanted);
    }
  });

  it('never come to be below themselves, not even by two moves at once', async () => {
    const top = await make();
    const middle = await make({ parent_zone_id: top.id });
    const bottom = await make({ parent_zone_id: middle.id });
    for (const parent_zone_id of [top.id, middle.id, bottom.id]) {
      expect((await send('PUT', `/zones/${top.id}`, { parent_zone_id })).status).toBe(400);
    }
    for (let round = 0; round < 10; round += 1) {
      const [a, b] = [await make(), await make()];
      const answers = await Promise.all([
        send('PUT', `/zones/${a.id}`, { parent_zone_id: b.id }),
        send('PUT', `/zones/${b.id}`, { parent_zone_id: a.id }),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    }
  });

  it('are deleted when empty, hidden then unless asked for, and restored', async () => {
    const zone = await make();
    const child = await make({ parent_zone_id: zone.id });
    expect(await refusal(send('DELETE', `/zones/${zone.id}`))).toEqual([422, 'has_children', undefined]);
    const gone = await send('DELETE', `/zones/${child.id}`);
    expect([gone.status, gone.body.deleted_at]).toEqual([200, expect.any(String)]);
    expect((await send('DELETE', `/zones/${zone.id}`)).status).toBe(200);
    expect((await send('GET', `/zones/${zone.id}`)).status).toBe(404);
    expect((await send('PUT', `/zones/${zone.id}`, { name: 'x' })).status).toBe(404);
    expect((await send('DELETE', `/zones/${zone.id}`)).status).toBe(404);
    expect((await send('GET', `/zones/${zone.id}?include_deleted=true`)).status).toBe(200);
    expect(await list()).not.toContain(zone.id);
    expect(await list('only_deleted=true')).toEqual(expect.arrayContaining([zone.id, child.id]));
    expect(await refusal(send('POST', `/zones/${child.id}/restore`))).toEqual([
      422,
      'parent_deleted',
      undefined,
    ]);
    const restored = await send('POST', `/zones/${zone.id}/restore`);
    expect([restored.status, restored.body.deleted_at]).toEqual([200, undefined]);
    expect(await refusal(send('POST', `/zones/${zone.id}/restore`))).toEqual([422, 'not_deleted', undefined]);
    expect((await send('POST', `/zones/${child.id}/restore`)).status).toBe(200);
  });

  it('with entities in them stay', async () => {
    for (const path of [`/zones/${building.zoneId}`, `/zones/${building.zoneId}/purge`])
      expect(await refusal(send('DELETE', path))).toEqual([422, 'has_children', undefined]);
  });

  it('are purged, live or deleted, and let go of what was deleted in them', async () => {
    const site = await app.world.building(orgId);
    const child = await make({ integration_id: site.integrationId, parent_zone_id: site.zoneId });
    expect((await send('DELETE', `/zones/${child.id}`)).status).toBe(200);
    await app.db.query('update entities set deleted_at = now() where id = $1', [site.entityId]);
    expect((await send('DELETE', `/zones/${site.zoneId}/purge`)).status).toBe(200);
    expect((await send('GET', `/zones/${site.zoneId}?include_deleted=true`)).status).toBe(404);
    const orphan = await send('GET', `/zones/${child.id}?include_deleted=true`);
    expect(orphan.body.parent_zone_id).toBeNull();
    const entity = await send('POST', `/entities/${site.entityId}/restore`);
    expect([entity.status, entity.body.zone_id]).toEqual([200, null]);
    expect((await send('DELETE', `/zones/${child.id}/purge`)).status).toBe(200);
  });

  it('of one integration have different external ids while they live', async () => {
    const first = await make({ external_id: 'lobby' });
    const twin = { integration_id: building.integrationId, name: 'x', external_id: 'lobby' };
    expect(await refusal(send('POST', '/zones', twin))).toEqual([409, 'already_exists', undefined]);
    const other = await make({ external_id: 'lobby 2' });
    expect(await refusal(send('PUT', `/zones/${other.id}`, { external_id: 'lobby' }))).toEqual([
      409,
      'already_exists',
      undefined,
    ]);
    await send('DELETE', `/zones/${first.id}`);
    await change(other.id, { external_id: 'lobby' });
    expect(await refusal(send('POST', `/zones/${first.id}/restore`))).toEqual([
      409,
      'already_exists',
      undefined,
    ]);
  });

  it('of an integration that is not there, or deleted, are not listed', async () => {
    const site = await app.world.building(orgId);
    expect(await list('', site.integrationId)).toEqual([site.zoneId]);
    await app.db.query('update integrations set deleted_at = now() where id = $1', [site.integrationId]);
    expect((await send('GET', `/integrations/${site.integrationId}/zones`)).status).toBe(404);
    expect(await list('include_deleted=true', site.integrationId)).toEqual([site.zoneId]);
    expect((await send('GET', `/integrations/${ulid()}/zones`)).status).toBe(404);
  });

  it('are seen by a key for certain entities where those are, and changed by none', async () => {
    const empty = await make();
    const key = await app.world.key(orgId, rootAdminId, { scopedEntityIds: [building.entityId] });
    const as = { token: key.token };
    const { body } = await app.request('GET', `/integrations/${building.integrationId}/zones`, as);
    expect((body.items as Zone[]).map(({ id }) => id)).toEqual([building.zoneId]);
    expect((await app.request('GET', `/zones/${building.zoneId}`, as)).status).toBe(200);
    expect((await app.request('GET', `/zones/${empty.id}`, as)).status).toBe(404);
    const edit = await app.request('PUT', `/zones/${building.zoneId}`, { ...as, body: { name: 'x' } });
    expect(edit.status).toBe(403);
  });

  it('say in their events what changed', async () => {
    const zone = await make({ name: 'Before' });
    await change(zone.id, { name: 'After', parent_zone_id: building.zoneId, external_id: null });
    const events = await app.db.query(
      'select event_type, details from audit_events where resource_id = $1 order by id',
      [zone.id],
    );
    expect(events).toEqual([
      {
        event_type: 'zone.created',
        details: { resource_name: 'Before', integration_id: building.integrationId },
      },
      {
        event_type: 'zone.updated',
        details: { resource_name: 'After', changed: ['name', 'parent_zone_id'] },
      },
    ]);
  });
});

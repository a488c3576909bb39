import type { Device } from '@lintel/contract/devices';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('the life of a device', () => {
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
  const bodyOf = (more: object = {}) => ({
    org_id: orgId,
    integration_id: building.integrationId,
    name: 'Lock',
    ...more,
  });
  const make = async (more: object = {}): Promise<Device> => {
    const answer = await send('POST', '/devices', bodyOf(more));
    expect(answer.status, answer.text).toBe(201);
    return answer.body as unknown as Device;
  };
  const change = async (id: string, body: object) => {
    const answer = await send('PUT', `/devices/${id}`, body);
    expect(answer.status, answer.text).toBe(200);
    return answer.body as unknown as Device;
  };
  const refusal = async (answer: ReturnType<typeof send>) => {
    const { status, body } = await answer;
    return [status, body.code, ...(body.details ?? []).map(({ path }) => path)];
  };
  const epoch = async () => {
    const [row] = await app.db.query<{ epoch: number }>('select epoch from org_epochs where org_id = $1', [
      orgId,
    ]);
    return Number(row?.epoch);
  };

  it('begins with all that is given, and can be read', async () => {
    const before = await epoch();
    const device = await make({
      name: { en: 'Lock', de: 'Schloss' },
      external_id: ' far-1 ',
      device_metadata: { kind: 'lock', nested: { list: [1, null] } },
    });
    expect(device).toEqual({
      id: device.id,
      org_id: orgId,
      integration_id: building.integrationId,
      name: { en: 'Lock', de: 'Schloss' },
      external_id: 'far-1',
      device_metadata: { kind: 'lock', nested: { list: [1, null] } },
      created_at: device.created_at,
      updated_at: device.created_at,
    });
    expect((await send('GET', `/devices/${device.id}`)).body).toEqual(device);
    expect(await epoch()).toBe(before + 1);
  });

  it.each([
    ['org_id', () => ulid(), '/org_id'],
    ['integration_id', () => ulid(), '/integration_id'],
    ['name', () => '', '/name'],
    ['name', () => ({ '?': 'x' }), '/name/?'],
    ['external_id', () => '\u200b', '/external_id'],
    ['device_metadata', () => ({ a: 'x'.repeat(17_000) }), '/device_metadata'],
    ['serial', () => 1, '/serial'],
  ])('does not begin with a wrong %s', async (field, value, path) => {
    expect(await refusal(send('POST', '/devices', bodyOf({ [field]: value() })))).toEqual([
      400,
      'validation_error',
      path,
    ]);
  });

  it('does not begin in a deleted integration', async () => {
    const site = await app.world.building(orgId);
    await app.db.query('update integrations set deleted_at = now() where id = $1', [site.integrationId]);
    const body = bodyOf({ integration_id: site.integrationId });
    expect(await refusal(send('POST', '/devices', body))).toEqual([
      400,
      'validation_error',
      '/integration_id',
    ]);
  });

  it('keeps what an update leaves out, loses what it clears, takes what it replaces', async () => {
    const device = await make({ external_id: 'tri', device_metadata: { kind: 'a', auto_close: 3 } });
    expect(await change(device.id, { name: 'Gate' })).toMatchObject({
      name: { en: 'Gate' },
      external_id: 'tri',
      device_metadata: { kind: 'a', auto_close: 3 },
    });
    expect((await change(device.id, { device_metadata: { kind: 'b' } })).device_metadata).toEqual({
      kind: 'b',
    });
    await app.db.query(`update devices set updated_at = '2020-01-01Z' where id = $1`, [device.id]);
    const cleared = await change(device.id, { external_id: null, device_metadata: null });
    expect(cleared).toMatchObject({ name: { en: 'Gate' }, external_id: null, device_metadata: {} });
    expect(cleared.updated_at).not.toBe('2020-01-01T00:00:00.000Z');
    expect(await change(device.id, {})).toEqual(cleared);
  });

  it('ends and begins again: hidden unless asked for', async () => {
    const device = await make({ external_id: 'again' });
    const gone = await send('DELETE', `/devices/${device.id}`);
    expect([gone.status, gone.body.deleted_at]).toEqual([200, expect.any(String)]);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PUT', '', { name: 'x' }],
      ['DELETE', '', undefined],
      ['GET', '/entities', undefined],
    ] as const)
      expect((await send(method, `/devices/${device.id}${path}`, body)).status).toBe(404);
    expect((await send('GET', `/devices/${device.id}?include_deleted=true`)).body).toEqual(gone.body);
    const back = await send('POST', `/devices/${device.id}/restore`);
    expect([back.status, back.body.deleted_at]).toEqual([200, undefined]);
    expect(await refusal(send('POST', `/devices/${device.id}/restore`))).toEqual([422, 'not_deleted']);
  });

  it('begins again only in a live integration', async () => {
    const site = await app.world.building(orgId);
    const device = await make({ integration_id: site.integrationId });
    await send('DELETE', `/devices/${device.id}`);
    await app.db.query('update integrations set deleted_at = now() where id = $1', [site.integrationId]);
    expect(await refusal(send('POST', `/devices/${device.id}/restore`))).toEqual([422, 'parent_deleted']);
  });

  it('ends with its entities only when that is asked for', async () => {
    const { deviceId, entityId } = await app.world.building(orgId);
    expect(await refusal(send('DELETE', `/devices/${deviceId}`))).toEqual([422, 'has_children']);
    expect((await send('DELETE', `/devices/${deviceId}?recursive=true`)).status).toBe(200);
    expect((await send('GET', `/entities/${entityId}`)).status).toBe(404);
    const [event] = await app.db.query(
      `select details from audit_events where resource_id = $1 and event_type = 'device.deleted'`,
      [deviceId],
    );
    expect(event).toMatchObject({ details: { entity_ids: [entityId] } });
    expect((await send('POST', `/devices/${deviceId}/restore`)).status).toBe(200);
    expect((await send('GET', `/entities/${entityId}`)).status).toBe(404);
    expect((await send('POST', `/entities/${entityId}/restore`)).status).toBe(200);
  });

  it('is wiped out with its entities and their states only when that is asked for', async () => {
    // It reports nothing, so this is its only state.
    const { deviceId, entityId } = await app.world.building(orgId, { enabled: false });
    await app.db.query(
      `insert into entity_states (org_id, entity_id, status, source, observed_at)
       values ($1, $2, 'open', 'test', now())`,
      [orgId, entityId],
    );
    expect((await send('DELETE', `/entities/${entityId}`)).status).toBe(200);
    // A deleted entity is still there, and may be wanted back.
    expect(await refusal(send('DELETE', `/devices/${deviceId}/purge`))).toEqual([422, 'has_children']);
    const purged = await send('DELETE', `/devices/${deviceId}/purge?recursive=true`);
    expect([purged.status, purged.body.id]).toEqual([200, deviceId]);
    expect((await send('GET', `/devices/${deviceId}?include_deleted=true`)).status).toBe(404);
    expect((await send('GET', `/entities/${entityId}?include_deleted=true`)).status).toBe(404);
    expect(await app.db.query('select from entity_states where entity_id = $1', [entityId])).toEqual([]);
  });

  it('shares no external id with another live one of its integration', async () => {
    const first = await make({ external_id: 'one' });
    const second = await make({ external_id: 'two' });
    const taken = [409, 'already_exists'];
    expect(await refusal(send('POST', '/devices', bodyOf({ external_id: 'one' })))).toEqual(taken);
    expect(await refusal(send('PUT', `/devices/${second.id}`, { external_id: 'one' }))).toEqual(taken);
    await send('DELETE', `/devices/${first.id}`);
    await change(second.id, { external_id: 'one' });
    expect(await refusal(send('POST', `/devices/${first.id}/restore`))).toEqual(taken);
    const elsewhere = await app.world.building(orgId);
    await make({ integration_id: elsewhere.integrationId, external_id: 'one' });
  });

  it('gets no entity while it ends', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id } = await make();
      const [ended, added] = await Promise.all([
        send('DELETE', `/devices/${id}`),
        send('POST', '/entities', { device_id: id, entity_type: 'switch' }),
      ]);
      expect([
        [200, 400],
        [422, 201],
      ]).toContainEqual([ended.status, added.status]);
    }
  });

  it('follows the rules of its provider', async () => {
    const board = await app.world.building(orgId);
    await app.db.query(`update integrations set provider_type = 'waveshare', enabled = false where id = $1`, [
      board.integrationId,
    ]);
    const make = (more: object) =>
      send('POST', '/devices', bodyOf({ integration_id: board.integrationId, ...more }));
    expect(await refusal(make({ external_id: 'x' }))).toEqual([400, 'validation_error', '/external_id']);
    const unknownMember = [400, 'validation_error', '/device_metadata/colour'];
    expect(await refusal(make({ device_metadata: { colour: 'red' } }))).toEqual(unknownMember);
    const { status, body } = await make({ device_metadata: { kind: 'relay', auto_close: 3 } });
    expect(status).toBe(201);
    const edit = (more: object) => send('PUT', `/devices/${String(body.id)}`, more);
    expect(await refusal(edit({ external_id: 'x' }))).toEqual([400, 'validation_error', '/external_id']);
    expect(await refusal(edit({ device_metadata: { colour: 'red' } }))).toEqual(unknownMember);
    // What was stored before the provider asked for it stands in nobody's way.
    await app.db.query(`update devices set external_id = 'old' where id = $1`, [body.id]);
    expect((await edit({ name: 'Board' })).status).toBe(200);
  });

  it('is not in the hands of a key for certain entities', async () => {
    const key = await app.world.key(orgId, rootAdminId, { scopedEntityIds: [building.entityId] });
    const other = await make();
    const as = { token: key.token };
    expect((await app.request('GET', `/devices/${building.deviceId}`, as)).status).toBe(200);
    expect((await app.request('GET', `/devices/${other.id}`, as)).status).toBe(404);
    for (const [method, path, body] of [
      ['POST', '/devices', bodyOf()],
      ['PUT', `/devices/${building.deviceId}`, { name: 'x' }],
      ['DELETE', `/devices/${building.deviceId}?recursive=true`, undefined],
      ['DELETE', `/devices/${building.deviceId}/purge?recursive=true`, undefined],
    ] as const)
      expect((await app.request(method, path, { ...as, ...(body ? { body } : {}) })).status).toBe(403);
  });
});

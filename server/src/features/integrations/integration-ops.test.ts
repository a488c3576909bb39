import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

let app: TestApp;
let orgId: string;
let token: string;

beforeAll(async () => {
  app = await startTestApp();
  orgId = await app.world.org();
  await app.world.grant(orgId, rootAdminId, 'admin');
  ({ token } = await app.world.key(orgId, rootAdminId));
});
afterAll(() => app.close());

async function integration(providerType: string, config: Record<string, unknown> = {}): Promise<string> {
  const id = ulid();
  await app.db.query(
    'insert into integrations (org_id, id, provider_type, name, config) values ($1, $2, $3, $4, $5)',
    [orgId, id, providerType, { en: 'Some' }, config],
  );
  return id;
}

const keyWith = async (...scopedRoles: string[]) =>
  (await app.world.key(orgId, rootAdminId, { scopedRoles: scopedRoles as never })).token;
const get = (path: string, as = token) => app.request('GET', path, { token: as, org: orgId });
const run = (id: string, op: string, body: unknown = {}, as = token) =>
  app.request('POST', `/integrations/${id}/ops/${op}`, { token: as, org: orgId, body });
const eventsOf = (id: string) =>
  app.db.query<{ event_type: string; outcome: string; details: Record<string, unknown> }>(
    'select event_type, outcome, details from audit_events where resource_id = $1 order by id',
    [id],
  );

describe('the ops of an integration', () => {
  it('are listed with their schema, and whether they change something', async () => {
    const answer = await get(`/integrations/${await integration('virtual_demo')}/ops`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject([
      { id: 'connection.test', mutates: false, role: 'integrations:read' },
      {
        id: 'faults.next',
        label: { en: 'Let the next commands fail' },
        mutates: true,
        role: 'integrations:update',
        input_schema: { type: 'object', required: ['mode'], additionalProperties: false },
      },
    ]);
  });

  it('that look leave no event', async () => {
    const id = await integration('virtual_demo');
    const answer = await run(id, 'connection.test');
    expect([answer.status, answer.body]).toEqual([200, { health: 'ok', message: 'connected' }]);
    expect(await eventsOf(id)).toEqual([]);
  });

  it('that change something have their effect and leave one event', async () => {
    const { entityId, integrationId } = await app.world.building(orgId);
    const open = () =>
      app.request('POST', `/entities/${entityId}/actions/open`, { token, org: orgId, body: {} });
    expect((await run(integrationId, 'faults.next', { mode: 'refuse' })).body).toEqual({
      mode: 'refuse',
      count: 1,
    });
    expect((await open()).body.code).toBe('device_refused');
    expect((await open()).status).toBe(200);
    expect(await eventsOf(integrationId)).toMatchObject([
      {
        event_type: 'integration.op_executed',
        outcome: 'succeeded',
        details: { op: 'faults.next', input: { mode: 'refuse' } },
      },
    ]);
  });

  it('the provider does not have are 501, and so are those its settings do not offer', async () => {
    const id = await integration('virtual_demo');
    expect((await run(id, 'group.read')).status).toBe(501);
    expect((await run(id, 'toString')).status).toBe(501);
    expect((await run(ulid(), 'connection.test')).status).toBe(404);
  });

  it.each([[null], [[]], ['text'], [{}], [{ mode: 'explode' }], [{ mode: 'refuse', more: 1 }]])(
    'refuse an input that is not theirs: %j',
    async (body) => {
      const id = await integration('virtual_demo');
      const answer = await run(id, 'faults.next', body);
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
      expect(await eventsOf(id)).toEqual([]);
    },
  );

  it('ask for the role that fits what they do', async () => {
    const id = await integration('shelly_websocket');
    const demo = await integration('virtual_demo');
    const [reader, updater, keeper, stranger] = [
      await keyWith('integrations:read'),
      await keyWith('integrations:update'),
      await keyWith('integrations:secrets'),
      await keyWith('devices:read'),
    ];
    const statuses = async (as: string) => [
      (await run(id, 'connection.test', {}, as)).status,
      (await run(demo, 'faults.next', { mode: 'refuse', count: 0 }, as)).status,
      (await run(id, 'dial_in.url', {}, as)).status,
      (await run(ulid(), 'connection.test', {}, as)).status,
    ];
    expect(await statuses(reader)).toEqual([200, 403, 403, 404]);
    expect(await statuses(updater)).toEqual([403, 200, 403, 404]);
    expect(await statuses(keeper)).toEqual([403, 403, 200, 404]);
    expect(await statuses(stranger)).toEqual([403, 403, 403, 403]);
  });

  it('that answer with a secret are told of as a read of one, without it', async () => {
    const id = await integration('shelly_websocket');
    const { status, body } = await run(id, 'dial_in.url');
    expect(status).toBe(200);
    expect(body.url).toMatch(new RegExp(`^wss?://.+/dial-in/shelly/${id}/[\\w-]{43}$`));
    const events = await eventsOf(id);
    expect(events).toMatchObject([
      { event_type: 'integration.secrets_read', outcome: 'succeeded', details: { op: 'dial_in.url' } },
    ]);
    expect(JSON.stringify(events)).not.toContain(String(body.url).slice(-43));
  });

  it('are not run while the integration is paused, and not by a key for certain entities', async () => {
    const { entityId, integrationId } = await app.world.building(orgId);
    const limited = (
      await app.world.key(orgId, rootAdminId, {
        scopedRoles: ['integrations:read'],
        scopedEntityIds: [entityId],
      })
    ).token;
    expect((await run(integrationId, 'connection.test', {}, limited)).status).toBe(403);
    await app.db.query('update integrations set enabled = false where id = $1', [integrationId]);
    expect((await run(integrationId, 'connection.test')).body.code).toBe('integration_disabled');
  });

  it('tell a far side that is away: in the answer of a test, else with 502', async () => {
    const id = await integration('go2rtc', { base_url: 'http://127.0.0.1:9' });
    expect((await run(id, 'connection.test')).body).toMatchObject({ health: 'error' });
    const answer = await run(id, 'streams.list');
    expect([answer.status, answer.body.code]).toEqual([502, 'device_unreachable']);
    const found = await get(`/integrations/${id}/discovered-devices`);
    expect([found.status, found.body.code]).toEqual([502, 'device_unreachable']);
  });
});

describe('discovered devices', () => {
  it('are 501 where the provider sees none', async () => {
    const id = await integration('virtual_demo');
    expect((await get(`/integrations/${id}/discovered-devices`)).status).toBe(501);
  });

  it('are none while nobody has dialled in', async () => {
    const id = await integration('shelly_websocket');
    expect((await get(`/integrations/${id}/discovered-devices`)).body).toEqual([]);
  });
});

describe('the schemas of metadata', () => {
  it('come from the provider, with what the record has', async () => {
    const { integrationId, deviceId, entityId } = await app.world.building(orgId);
    await app.db.query(`update integrations set provider_type = 'knx' where id = $1`, [integrationId]);
    await app.db.query('update entities set metadata = $2 where id = $1', [
      entityId,
      { status_address: '1/2/3' },
    ]);
    const ofDevices = await get(`/integrations/${integrationId}/device-metadata-schema`);
    expect(ofDevices.body).toMatchObject({
      provider_type: 'knx',
      schema: { type: 'object', properties: {} },
    });
    const ofDevice = await get(`/devices/${deviceId}/metadata-definition`);
    expect(ofDevice.body).toMatchObject({ provider_type: 'knx', schema: { type: 'object' }, data: {} });
    const ofEntity = await get(`/entities/${entityId}/metadata-definition`);
    expect(ofEntity.body).toMatchObject({
      provider_type: 'knx',
      entity_type: 'door',
      schema: { properties: { status_address: { type: 'string' } } },
      data: { status_address: '1/2/3' },
    });
    const ofNew = await get(`/devices/${deviceId}/entities/metadata-definition?entity_type=light`);
    expect(ofNew.body).toMatchObject({ provider_type: 'knx', entity_type: 'light', data: {} });
    expect((await get(`/devices/${deviceId}/entities/metadata-definition`)).status).toBe(400);
    expect((await get(`/devices/${ulid()}/entities/metadata-definition?entity_type=light`)).status).toBe(404);
  });
});

describe('an external id', () => {
  it('of another form than the provider’s is refused when it is written', async () => {
    const { integrationId, deviceId } = await app.world.building(orgId);
    await app.db.query(`update integrations set provider_type = 'knx' where id = $1`, [integrationId]);
    const create = (external_id: string) =>
      app.request('POST', '/entities', {
        token,
        org: orgId,
        body: { device_id: deviceId, entity_type: 'switch', external_id },
      });
    for (const wrong of ['gate', '32/0/1', '1/8/1', '1/1/256', '1/1'])
      expect((await create(wrong)).body).toMatchObject({ details: [{ path: '/external_id' }] });
    const { status, body } = await create('2/1/1');
    expect(status).toBe(201);
    const changed = await app.request('PUT', `/entities/${body.id}`, {
      token,
      org: orgId,
      body: { external_id: 'gate' },
    });
    expect(changed.status).toBe(400);
  });
});

describe('the list of devices', () => {
  it('can be cut to those with a channel of a recorder', async () => {
    const { integrationId, deviceId } = await app.world.building(orgId);
    const ids = async (query: string) => {
      const { body } = await get(`/devices?integration_id=${integrationId}&${query}`);
      return (body.items as { id: string }[]).map((item) => item.id);
    };
    expect(await ids('has_go2rtc_channel=true')).toEqual([]);
    expect(await ids('has_go2rtc_channel=false')).toEqual([deviceId]);
    await app.db.query('update devices set device_metadata = $2 where id = $1', [deviceId, { channel: 3 }]);
    expect(await ids('has_go2rtc_channel=true')).toEqual([deviceId]);
  });
});

// Device scope is about the hardware: devices of several integrations, here and below, may be the same one.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';

interface Device {
  readonly id: string;
  readonly entityId: string;
  readonly orgId: string;
  readonly path: string;
}

interface Person {
  readonly orgId: string;
  readonly token: string;
}

const quiet = { policy_type: 'quiet_hours', config: { start: '00:00', end: '23:59' } };
const cloud = {
  provider_type: 'shelly_cloud',
  config: { server_uri: 'https://shelly-1-eu.shelly.cloud' },
  secrets: { auth_key: 'a key' },
};
const websocket = { provider_type: 'shelly_websocket', config: {} };
const mqtt = { provider_type: 'mqtt', config: { broker_host: '192.0.2.1' } };

describe('a physical device', () => {
  let app: TestApp;
  let parent: Person;
  let child: Person;

  const person = async (orgId: string, ...roles: string[]): Promise<Person> => {
    const userId = await app.world.user();
    await app.world.grant(orgId, userId, ...roles);
    return { orgId, token: (await app.world.key(orgId, userId)).token };
  };
  const send = (
    { orgId, token }: Person,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: object,
  ) => app.request(method, path, { token, org: orgId, ...(body && { body }) });
  const made = async (by: Person, path: string, body: object): Promise<string> => {
    const answer = await send(by, 'POST', path, body);
    expect(answer.status, answer.text).toBe(201);
    return String(answer.body.id);
  };
  /** In an integration of its own. */
  const device = async (by: Person, kind: object, identity: object, more = {}): Promise<Device> => {
    const { orgId } = by;
    const named = { org_id: orgId, name: { en: 'Gate' } };
    const integrationId = await made(by, '/integrations', { ...named, enabled: false, ...kind });
    const id = await made(by, '/devices', { ...named, integration_id: integrationId, ...identity });
    const entityId = await made(by, '/entities', { device_id: id, entity_type: 'door', ...more });
    return { id, entityId, orgId, path: `/integrations/${integrationId}/devices/${id}` };
  };
  /** No hardware is asked. */
  const decision = async (by: Person, { entityId }: Device): Promise<unknown> =>
    (await send(by, 'POST', `/entities/${entityId}/actions/switchable.open/preview`, {})).body.decision;
  const status = async (by: Person, { path }: Device) =>
    (await send(by, 'GET', `${path}/physical-device`)).body;

  beforeAll(async () => {
    app = await startTestApp();
    const orgId = await app.world.org();
    parent = await person(orgId, 'admin');
    child = await person(await app.world.org({ parentId: orgId }), 'admin');
  });
  afterAll(() => app.close());

  it('is one, whichever integration points at it, and a policy of it binds them all', async () => {
    const first = await device(parent, cloud, { external_id: 'a8032abe41fc' });
    const second = await device(parent, websocket, {
      device_metadata: { 'shelly.device_id': 'shellyplus1-A8032ABE41FC' },
    });
    const other = await device(parent, cloud, { external_id: 'a8032abe41fd' });
    const known = { physical_device_id: first.id, hardware_id: 'a8032abe41fc', has_steward: false };
    expect(await status(parent, first)).toMatchObject({ ...known, is_primary_instance: true });
    expect(await status(parent, second)).toMatchObject({ ...known, is_primary_instance: false });
    expect(await status(parent, other)).toMatchObject({ physical_device_id: other.id });
    const policy = await send(parent, 'POST', `${second.path}/policies`, quiet);
    expect(policy.body).toMatchObject({ scope: 'device', physical_device_id: first.id });
    expect(await decision(parent, first)).toBe('deny');
    expect(await decision(parent, second)).toBe('deny');
    expect(await decision(parent, other)).toBe('allow');
    const listed = await send(parent, 'GET', `${first.path}/policies`);
    expect(listed.body).toMatchObject([{ id: policy.body.id, physical_device_id: first.id }]);
    expect((await send(parent, 'GET', `${other.path}/policies`)).body).toEqual([]);
    expect((await send(parent, 'DELETE', `${first.path}/policies/${policy.body.id}`)).status).toBe(204);
    expect(await decision(parent, second)).toBe('allow');
  });

  it('is bound below by what is set above, and neither above nor beside it by what is set below', async () => {
    const identity = { external_id: 'b8032abe41fc' };
    const below = await device(child, cloud, identity);
    const above = await device(parent, cloud, identity);
    const stranger = await person(await app.world.org(), 'admin');
    const beside = await device(stranger, cloud, identity);
    expect(await status(child, below)).toMatchObject({ physical_device_id: above.id });
    expect(await status(stranger, beside)).toMatchObject({ physical_device_id: beside.id });
    const low = await send(child, 'POST', `${below.path}/policies`, quiet);
    const decisions = async () => [
      await decision(parent, above),
      await decision(child, below),
      await decision(stranger, beside),
    ];
    expect(await decisions()).toEqual(['allow', 'deny', 'allow']);
    await send(child, 'DELETE', `${below.path}/policies/${low.body.id}`);
    await made(parent, `${above.path}/policies`, quiet);
    expect(await decisions()).toEqual(['deny', 'deny', 'allow']);
  });

  it('that becomes another one leaves the policies of the first behind, below as well', async () => {
    const below = await device(child, cloud, { external_id: 'c8032abe41fc' });
    const above = await device(parent, cloud, { external_id: 'c8032abe41f0' });
    await made(parent, `${above.path}/policies`, quiet);
    expect(await decision(child, below)).toBe('allow');
    const become = (externalId: string) =>
      send(parent, 'PUT', `/devices/${above.id}`, { external_id: externalId });
    expect((await become('c8032abe41fc')).status).toBe(200);
    expect(await decision(child, below)).toBe('deny');
    await become('c8032abe41f0');
    expect(await decision(child, below)).toBe('allow');
    expect(await decision(parent, above)).toBe('deny');
  });

  it('of two outputs is one gate', async () => {
    const gate = {
      provider_type: 'palgate_cloud',
      config: { phone: '972500000000', token_type: 'primary' },
      secrets: { session_token_hex: 'ab'.repeat(16) },
    };
    const first = await device(parent, gate, { external_id: '4G1000' });
    const second = await device(parent, gate, { external_id: '4G1000:2' });
    expect(await status(parent, second)).toMatchObject({
      hardware_id: '4G1000',
      physical_device_id: first.id,
    });
    const config = { ...quiet.config, output: '2' };
    await made(parent, `${first.path}/policies`, { ...quiet, config });
    expect([await decision(parent, first), await decision(parent, second)]).toEqual(['allow', 'deny']);
  });

  it('is not known by an id that means something only at its far side', async () => {
    const topics = { metadata: { command_topic: 'gate/set' } };
    const first = await device(parent, mqtt, { external_id: 'gate' }, topics);
    const second = await device(parent, mqtt, { external_id: 'gate' }, topics);
    expect(await status(parent, second)).toMatchObject({ physical_device_id: second.id, hardware_id: null });
    await made(parent, `${first.path}/policies`, quiet);
    expect((await send(parent, 'GET', `${second.path}/policies`)).body).toEqual([]);
  });

  it('has one steward, whichever of its devices it was claimed by', async () => {
    const identity = { external_id: 'd8032abe41fc' };
    const [first, second] = [await device(parent, cloud, identity), await device(parent, cloud, identity)];
    const below = await device(child, cloud, identity);
    const [steward, other] = [
      await person(parent.orgId, 'policies:manage'),
      await person(parent.orgId, 'policies:manage'),
    ];
    await made(steward, `${first.path}/policies`, { ...quiet, enabled: false });
    expect(await status(steward, second)).toMatchObject({ is_steward: true, can_claim: false });
    expect((await send(other, 'POST', `${second.path}/policies`, quiet)).status).toBe(403);
    expect((await send(child, 'POST', `${below.path}/policies`, quiet)).status).toBe(403);
    expect((await send(child, 'POST', `${below.path}/steward/release`, {})).status).toBe(403);
    expect((await send(steward, 'POST', `${second.path}/steward/release`, {})).status).toBe(204);
    expect((await send(child, 'POST', `${below.path}/policies`, quiet)).status).toBe(201);
    expect((await send(other, 'POST', `${second.path}/policies`, quiet)).status).toBe(201);
  });

  it('has one steward where several would be by different devices of it at once', async () => {
    const identity = { external_id: 'e8032abe41fc' };
    const devices = [await device(parent, cloud, identity), await device(parent, cloud, identity)];
    const people = await Promise.all([0, 1, 2, 3].map(() => person(parent.orgId, 'policies:manage')));
    const answers = await Promise.all(
      people.map((one, n) => send(one, 'POST', `${devices[n % 2]?.path}/policies`, quiet)),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 403, 403, 403]);
  });

  it('is the same one however its id is written', async () => {
    const first = await device(parent, cloud, { external_id: 'b48a0a1cd978' });
    await made(parent, `${first.path}/policies`, quiet);
    for (const external_id of [
      'B48A0A1CD978',
      'b4:8a:0a:1c:d9:78',
      'B4-8A-0A-1C-D9-78',
      'b48a.0a1c.d978',
      'b48a0a1cd978:0',
      'b48a0a1cd978_1',
      'b4:8a:0a:1c:d9:78:0',
      'shellyplus1-B48A0A1CD978',
    ]) {
      const same = await device(parent, cloud, { external_id });
      expect(await status(parent, same), external_id).toMatchObject({ physical_device_id: first.id });
      expect(await decision(parent, same), external_id).toBe('deny');
    }
    const other = await device(parent, cloud, { external_id: 'b48a0a1cd979:0' });
    expect(await decision(parent, other)).toBe('allow');
  });

  it('is not parted from its policies by those who do not manage them', async () => {
    const policed = await device(parent, cloud, { external_id: 'f8032abe41fc' });
    await made(parent, `${policed.path}/policies`, quiet);
    const roles = ['read', 'create', 'update', 'delete'].map((verb) => `devices:${verb}`);
    const handy = await person(parent.orgId, ...roles);
    const manager = await person(parent.orgId, 'policies:manage', ...roles);
    const become = (by: Person, body: object) => send(by, 'PUT', `/devices/${policed.id}`, body);
    const other = { external_id: 'eeeeeeeeeeee' };
    expect(await become(handy, other)).toMatchObject({ status: 403, body: { error_code: 'forbidden' } });
    expect((await become(handy, { name: { en: 'Yard' }, external_id: 'F8:03:2A:BE:41:FC' })).status).toBe(
      200,
    );
    // The role alone: the policies are the steward's.
    expect((await become(manager, other)).status).toBe(403);
    const purge = (by: Person) => send(by, 'DELETE', `/devices/${policed.id}/purge?recursive=true`);
    expect([(await purge(handy)).status, (await purge(manager)).status]).toEqual([403, 403]);
    expect((await send(handy, 'DELETE', `/devices/${policed.id}?recursive=true`)).status).toBe(200);
    expect([(await purge(handy)).status, (await purge(manager)).status]).toEqual([403, 403]);
    const next = await device(parent, cloud, { external_id: 'f8032abe41fc' });
    expect(await decision(parent, next)).toBe('deny');
    expect((await purge(parent)).status).toBe(200);
    expect(await decision(parent, next)).toBe('allow');
  });

  it('is asked of its steward above by those below, and without policies of anybody who may', async () => {
    const identity = { external_id: '18032abe41fc' };
    const below = await device(child, cloud, identity);
    await made(child, `${below.path}/policies`, quiet);
    expect((await send(child, 'POST', `${below.path}/steward/release`, {})).status).toBe(204);
    const above = await device(parent, cloud, identity);
    await made(parent, `${above.path}/policies`, { ...quiet, enabled: false });
    const become = (by: Person, { id }: Device) =>
      send(by, 'PUT', `/devices/${id}`, { external_id: '18032abe41f0' });
    expect((await become(child, below)).status).toBe(403);
    expect((await send(child, 'DELETE', `/devices/${below.id}/purge?recursive=true`)).status).toBe(403);
    const free = await device(child, cloud, identity);
    expect((await become(child, free)).status).toBe(200);
    expect((await become(parent, above)).status).toBe(200);
    expect((await become(child, below)).status).toBe(200);
  });

  it('does not lose its policies with its integration to those who do not manage them', async () => {
    const policed = await device(parent, cloud, { external_id: '28032abe41fc' });
    await made(parent, `${policed.path}/policies`, quiet);
    const handy = await person(parent.orgId, 'integrations:read', 'integrations:delete');
    const integration = policed.path.slice(0, policed.path.indexOf('/devices'));
    const purge = (by: Person) => send(by, 'DELETE', `${integration}/purge?recursive=true`);
    expect(await purge(handy)).toMatchObject({ status: 403, body: { error_code: 'forbidden' } });
    expect((await send(handy, 'DELETE', `${integration}?recursive=true`)).status).toBe(200);
    expect((await purge(handy)).status).toBe(403);
    expect((await purge(parent)).status).toBe(200);
  });

  it('that is held closed as a whole is closed by whichever device, here and below, and at once', async () => {
    const identity = { external_id: '38032abe41fc' };
    const [first, second] = [await device(parent, cloud, identity), await device(parent, cloud, identity)];
    const below = await device(child, cloud, identity);
    const other = await device(child, cloud, { external_id: '38032abe41f0' });
    const decisions = async () => [
      await decision(parent, first),
      await decision(parent, second),
      await decision(child, below),
      await decision(child, other),
    ];
    const hold = (by: Person, { id }: Device, mode: string) =>
      send(by, 'PUT', `/devices/${id}/hold`, { mode });
    const free = ['allow', 'allow', 'allow', 'allow'];
    const closed = ['deny', 'deny', 'deny', 'allow'];
    expect(await decisions()).toEqual(free);
    const { body } = await hold(parent, first, 'hold_closed');
    expect(await decisions()).toEqual(closed);
    expect((await send(parent, 'GET', `/devices/${second.id}/hold`)).body).toEqual({
      ...body,
      device_id: second.id,
    });
    const become = (externalId: string) =>
      send(parent, 'PUT', `/devices/${first.id}`, { external_id: externalId });
    await become('38032abe41f0');
    expect(await decisions()).toEqual(['deny', 'allow', 'allow', 'deny']);
    await become('38032abe41fc');
    expect(await decisions()).toEqual(closed);
    await send(parent, 'DELETE', `/devices/${first.id}?recursive=true`);
    expect((await decisions()).slice(1)).toEqual(closed.slice(1));
    expect((await hold(parent, second, 'normal')).status).toBe(200);
    expect((await decisions()).slice(1)).toEqual(free.slice(1));
    await hold(child, below, 'hold_closed');
    expect((await decisions()).slice(1)).toEqual(['allow', 'deny', 'allow']);
    await hold(child, below, 'normal');
    await hold(parent, second, 'hold_closed');
    expect((await decisions()).slice(1)).toEqual(closed.slice(1));
    await send(parent, 'DELETE', `/devices/${second.id}/purge?recursive=true`);
    expect((await decisions()).slice(2)).toEqual(['allow', 'allow']);
  });

  it('that is held in part, or open, is so by that device only', async () => {
    const identity = { external_id: '48032abe41fc' };
    const [first, second] = [await device(parent, cloud, identity), await device(parent, cloud, identity)];
    await send(parent, 'PUT', `/entities/${first.entityId}/hold`, { mode: 'hold_closed' });
    expect([await decision(parent, first), await decision(parent, second)]).toEqual(['deny', 'allow']);
    await send(parent, 'PUT', `/entities/${first.entityId}/hold`, { mode: 'normal' });
    const hold = (mode: string, { id }: Device) => send(parent, 'PUT', `/devices/${id}/hold`, { mode });
    await hold('hold_closed', first);
    expect((await hold('hold_open', second)).status).toBe(403);
    // The hold that it takes the place of is not in its way.
    expect((await hold('hold_open', first)).status).toBe(200);
    expect((await send(parent, 'GET', `/devices/${second.id}/hold`)).body).toMatchObject({ mode: 'normal' });
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Mosquitto, startMosquitto } from '../../../test/support/peers/mosquitto.ts';
import { createPortalSite, type PortalSite } from '../../../test/support/portal-site.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

const soon = { timeout: 15_000, interval: 25 };
let app: TestApp;
let broker: Mosquitto;
let site: PortalSite;

beforeAll(async () => {
  broker = await startMosquitto();
  app = await startTestApp();
});
afterAll(async () => {
  await app.close();
  await broker.close();
});
beforeEach(async () => {
  site = await createPortalSite(app);
});

const demoDoor = async (config: Record<string, unknown> = {}) => app.world.building(site.orgId, { config });
const failing = (failure_mode: string) => demoDoor({ failure_rate: 1, failure_mode });
const entity = async (id: string) =>
  (await app.request('GET', `/entities/${id}`, { token: site.token, org: site.orgId })).body;
const intents = () =>
  app.db.query<{ id: string; entity_id: string; state: string }>(
    'select id, entity_id, state from intents where org_id = $1 order by created_at, id',
    [site.orgId],
  );

describe('an open of a portal', () => {
  it('goes to its first opener, with an intent and an event of its own under the same correlation id', async () => {
    const first = await site.mqttDoor(broker);
    const second = await demoDoor();
    const portal = await site.portal([first.id, second.entityId]);
    const answer = await site.act(portal);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({ state: 'open', door_open_duration_seconds: 5, entity_id: portal });
    expect(first.heard).toEqual(['ON']);
    expect(await site.demoCommands(second.entityId)).toEqual([]);

    const events = await site.events();
    expect(events.map(({ resource_id, outcome }) => [resource_id, outcome])).toEqual([
      [first.id, 'succeeded'],
      [portal, 'succeeded'],
    ]);
    expect(new Set(events.map((event) => event.correlation_id))).toEqual(
      new Set([answer.body.correlation_id]),
    );
    expect(events[0]?.details.part_of).toBe(answer.body.attempt_id);
    expect(events[0]?.actor_api_key_id).toBe(events[1]?.actor_api_key_id);
    const counted = await app.db.query<{ count: string }>(
      `select sum(count) as count from usage_counters where org_id = $1 and key = 'door_opens'`,
      [site.orgId],
    );
    expect(Number(counted[0]?.count)).toBe(1);
  });

  it.each(['unreachable', 'refuse'])('goes on to the next one when the first is %s', async (how) => {
    const first = await failing(how);
    const second = await site.mqttDoor(broker);
    const third = await demoDoor();
    const portal = await site.portal([first.entityId, second.id, third.entityId]);
    expect((await site.act(portal)).status).toBe(200);
    expect(second.heard).toEqual(['ON']);
    expect(await site.demoCommands(first.entityId)).toEqual(how === 'refuse' ? ['open'] : []);
    expect(await site.demoCommands(third.entityId)).toEqual([]);
    const outcomes = (await site.events()).map(({ resource_id, outcome }) => [resource_id, outcome]);
    expect(outcomes).toEqual([
      [first.entityId, 'failed'],
      [second.id, 'succeeded'],
      [portal, 'succeeded'],
    ]);
  });

  it('goes on to the next one when the broker of the first is down', async () => {
    const away = await startMosquitto();
    const first = await site.mqttDoor(away);
    const second = await demoDoor();
    const portal = await site.portal([first.id, second.entityId]);
    first.client.end(true);
    await away.close();
    await vi.waitFor(async () => {
      const { body } = await app.request('GET', `/integrations/${first.integrationId}`, site);
      expect(body.health).toBe('error');
    }, soon);
    expect((await site.act(portal)).status).toBe(200);
    expect(await site.demoCommands(second.entityId)).toEqual(['open']);
  });

  it('stops at an opener of unknown fate: no second command', async () => {
    const first = await failing('lose_reply');
    const second = await site.mqttDoor(broker);
    const portal = await site.portal([first.entityId, second.id]);
    const answer = await site.act(portal);
    expect([answer.status, answer.body.error_code]).toEqual([409, 'outcome_unknown']);
    expect(await site.demoCommands(first.entityId)).toEqual(['open']);
    expect(second.heard).toEqual([]);
    expect((await intents()).map(({ entity_id, state }) => [entity_id, state])).toEqual([
      [portal, 'unknown'],
      [first.entityId, 'unknown'],
    ]);
  });

  it('is unreachable, not unknown, when no opener could be reached', async () => {
    const portal = await site.portal([(await failing('unreachable')).entityId]);
    const answer = await site.act(portal);
    expect([answer.status, answer.body.error_code]).toEqual([502, 'device_unreachable']);
  });

  it('needs the portal only: a key limited to it opens', async () => {
    const opener = await demoDoor();
    const portal = await site.portal([opener.entityId]);
    const key = await app.world.key(site.orgId, rootAdminId, { scopedEntityIds: [portal] });
    expect((await site.act(portal, 'open', key.token)).status).toBe(200);
    expect((await site.act(opener.entityId, 'open', key.token)).status).toBe(403);
  });

  it('switches its lights on, for their time, and does not mind one that fails', async () => {
    const door = await demoDoor();
    const light = await app.world.building(site.orgId, { entityType: 'light' });
    const dark = await app.world.building(site.orgId, {
      entityType: 'light',
      config: { failure_rate: 1, failure_mode: 'unreachable' },
    });
    const portal = await site.portal([door.entityId], {
      lights: [
        { entity_id: dark.entityId },
        { entity_id: light.entityId, auto_off_config: { auto_off_seconds: 1 } },
      ],
    });
    expect((await site.act(portal)).status).toBe(200);
    await vi.waitFor(async () => expect(await site.events()).toHaveLength(4), soon);
    expect(await site.demoCommands(light.entityId)).toEqual(['open']);
    const failed = (await site.events()).filter((event) => event.outcome === 'failed');
    expect(failed.map((event) => event.resource_id)).toEqual([dark.entityId]);
    await vi.waitFor(
      async () => expect((await entity(light.entityId)).state).toMatchObject({ status: 'closed' }),
      soon,
    );
  });

  it('leaves off what a policy or a hold is against, and opens all the same', async () => {
    const door = await demoDoor();
    const [free, quiet, held] = await Promise.all(
      [0, 1, 2].map(() => app.world.building(site.orgId, { entityType: 'light' })),
    );
    if (!free || !quiet || !held) throw new Error('three lights');
    const forbid = `forbid (principal, action, resource == Entity::"${quiet.entityId}");`;
    const send = (method: 'POST' | 'PUT', path: string, body: unknown) =>
      app.request(method, path, { token: site.token, org: site.orgId, body });
    const policy = await send('POST', `/orgs/${site.orgId}/policies`, {
      policy_type: 'cedar',
      config: { policy: forbid },
    });
    expect(policy.status, policy.text).toBe(201);
    const hold = await send('PUT', `/entities/${held.entityId}/hold`, { mode: 'hold_closed' });
    expect(hold.status, hold.text).toBe(200);
    const lights = [free, quiet, held].map(({ entityId }) => ({ entity_id: entityId }));
    const portal = await site.portal([door.entityId], { lights });
    expect((await site.act(portal)).status).toBe(200);
    await vi.waitFor(async () => expect(await site.demoCommands(free.entityId)).toEqual(['open']), soon);
    const events = await site.events();
    expect(events.find(({ resource_id }) => resource_id === portal)?.details.held_back).toEqual([
      quiet.entityId,
      held.entityId,
    ]);
    expect(await site.demoCommands(quiet.entityId)).toEqual([]);
    expect(await site.demoCommands(held.entityId)).toEqual([]);
  });

  it('that a hold makes by itself leaves all lights as they are', async () => {
    const door = await demoDoor();
    const light = await app.world.building(site.orgId, { entityType: 'light' });
    const portal = await site.portal([door.entityId], { lights: [{ entity_id: light.entityId }] });
    const hold = await app.request('PUT', `/entities/${portal}/hold`, {
      token: site.token,
      org: site.orgId,
      body: { mode: 'hold_open' },
    });
    expect(hold.status, hold.text).toBe(200);
    await vi.waitFor(async () => expect(await site.events()).toHaveLength(2), soon);
    expect(await site.demoCommands(door.entityId)).toEqual(['open']);
    expect((await site.events()).find((event) => event.resource_id === portal)?.details.held_back).toEqual([
      light.entityId,
    ]);
    expect(await site.demoCommands(light.entityId)).toEqual([]);
  });

  it('takes no door for a light: not when it is written, nor later', async () => {
    const [door, vault] = [await demoDoor(), await demoDoor()];
    const body = {
      org_id: site.orgId,
      integration_id: site.integrationId,
      name: { en: 'Portal' },
      device_metadata: {
        kind: 'virtual_access_portal',
        virtual_access: { openers: [{ entity_id: door.entityId }], lights: [{ entity_id: vault.entityId }] },
      },
    };
    const refused = await app.request('POST', '/devices', { token: site.token, org: site.orgId, body });
    expect(refused.status).toBe(400);
    const light = await app.world.building(site.orgId, { entityType: 'light' });
    const portal = await site.portal([door.entityId], { lights: [{ entity_id: light.entityId }] });
    await app.db.query(`update entities set entity_type = 'door' where id = $1`, [light.entityId]);
    expect((await site.act(portal)).status).toBe(200);
    await app.db.query('select pg_sleep(0.5)');
    expect(await site.demoCommands(light.entityId)).toEqual([]);
  });
});

describe('an opener', () => {
  it.each([
    ['deleted', 'update entities set deleted_at = now() where id = $1'],
    ['purged', 'delete from entities where id = $1'],
    [
      'paused',
      `update integrations set enabled = false where id =
         (select d.integration_id from devices d join entities e on e.device_id = d.id where e.id = $1)`,
    ],
  ])('that is %s is passed over', async (_how, change) => {
    const [first, second] = [await demoDoor(), await demoDoor()];
    const portal = await site.portal([first.entityId, second.entityId]);
    await app.db.query(change, [first.entityId]);
    expect((await site.act(portal)).status).toBe(200);
    expect(await site.demoCommands(first.entityId)).toEqual([]);
    expect(await site.demoCommands(second.entityId)).toEqual(['open']);
    const told = (await site.events()).map((event) => event.resource_id);
    expect(told).toEqual([second.entityId, portal]);
  });

  it('that became a portal’s own, past the checks, is passed over', async () => {
    const door = await demoDoor();
    const inner = await site.portal([door.entityId]);
    const outer = await site.portal([door.entityId]);
    await app.db.query(
      `update devices set device_metadata =
         jsonb_set(device_metadata, '{virtual_access,openers,0,entity_id}', to_jsonb($1::text))
       where id = (select device_id from entities where id = $2)`,
      [inner, outer],
    );
    const answer = await site.act(outer);
    expect([answer.status, answer.body.error_code]).toEqual([502, 'device_unreachable']);
    expect(await site.demoCommands(door.entityId)).toEqual([]);
    expect((await entity(outer)).state).toMatchObject({ status: 'invalid' });
  });

  it('keeps the interval of its own integration', async () => {
    const slow = await demoDoor({ min_interval_ms: 60_000 });
    const portal = await site.portal([slow.entityId]);
    expect((await site.act(slow.entityId)).status).toBe(200);
    const answer = await site.act(portal);
    expect([answer.status, answer.body.error_code]).toEqual([429, 'provider_open_rate_limited']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(30);
    expect(await site.demoCommands(slow.entityId)).toEqual(['open']);
    const other = await demoDoor();
    expect((await site.act(await site.portal([slow.entityId, other.entityId]))).status).toBe(200);
    expect(await site.demoCommands(other.entityId)).toEqual(['open']);
  });

  it('that comes too soon keeps its proof for the next time', async () => {
    const door = await demoDoor({ min_interval_ms: 600_000 });
    const portal = await site.portal([door.entityId]);
    const policy = { policy_type: 'require_step_up', config: {} };
    await app.request('POST', `/orgs/${site.orgId}/policies`, { token: site.token, body: policy });
    const send = (entityId: string, proof: string) =>
      app.request('POST', `/entities/${entityId}/actions/open`, {
        token: site.token,
        org: site.orgId,
        body: {},
        headers: { 'x-service-confirm': proof },
      });
    const proofFor = async (entityId: string) => String((await send(entityId, '')).body.preview_token);
    const proof = await proofFor(portal);
    expect((await send(door.entityId, await proofFor(door.entityId))).status).toBe(200);
    const preview = await app.request('POST', `/entities/${portal}/actions/open/preview`, {
      token: site.token,
      org: site.orgId,
      body: {},
    });
    expect(preview.body).toMatchObject({ provider: { min_interval_ms: 600_000 } });
    const tooSoon = await send(portal, proof);
    expect([tooSoon.status, tooSoon.body.error_code]).toEqual([429, 'provider_open_rate_limited']);
    await app.db.query(
      `update dispatch_intervals set last_dispatch_at = last_dispatch_at - interval '600 s' where org_id = $1`,
      [site.orgId],
    );
    const answer = await send(portal, proof);
    expect(answer.status, answer.text).toBe(200);
    expect(await site.demoCommands(door.entityId)).toEqual(['open', 'open']);
  });

  it('takes one of two portals over one door at once, and the other keeps its proof', async () => {
    const door = await demoDoor({ min_interval_ms: 600_000 });
    const portals = await Promise.all(Array.from({ length: 8 }, () => site.portal([door.entityId])));
    const answers = await Promise.all(portals.map((portal) => site.act(portal)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(429)]);
    expect(await site.demoCommands(door.entityId)).toEqual(['open']);
    expect((await intents()).map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
  });

  it('without a timer of its own is closed by the service; the portal has no job', async () => {
    const relay = await site.mqttDoor(broker);
    const portal = await site.portal([relay.id], { open_config: { auto_close_seconds: 0.5 } });
    expect((await site.act(portal)).body.door_open_duration_seconds).toBe(0.5);
    const jobs = () => app.db.query('select entity_id from close_jobs where org_id = $1', [site.orgId]);
    await vi.waitFor(() => expect(relay.heard).toEqual(['ON', 'OFF']), soon);
    await vi.waitFor(async () => expect(await jobs()).toEqual([]), soon);
    const automatic = (await site.events()).filter((event) => event.details.automatic === true);
    expect(automatic.map((event) => event.resource_id)).toEqual([relay.id]);
  });

  const write = (openers: readonly unknown[], more: Record<string, unknown> = {}) =>
    app.request('POST', '/devices', {
      token: site.token,
      org: site.orgId,
      body: {
        org_id: site.orgId,
        integration_id: site.integrationId,
        name: { en: 'Portal' },
        device_metadata: { kind: 'virtual_access_portal', virtual_access: { openers }, ...more },
      },
    });
  const place = (answer: Awaited<ReturnType<typeof write>>) => [answer.status, answer.text];

  it('of another organization, of nowhere, of no switch, of a portal, or named twice is refused', async () => {
    const good = (await demoDoor()).entityId;
    const foreign = (await app.world.building(await app.world.org())).entityId;
    const sensor = (await app.world.building(site.orgId, { entityType: 'sensor' })).entityId;
    const portal = await site.portal([good]);
    for (const bad of [foreign, ulid(), sensor, portal, good]) {
      const answer = await write([{ entity_id: good }, { entity_id: bad }]);
      expect(place(answer)).toEqual([
        400,
        expect.stringContaining('/device_metadata/virtual_access/openers/1/entity_id'),
      ]);
    }
  });

  it('is looked at when a device is changed, too; so are lights and cameras', async () => {
    const { deviceId } = await site.device({});
    const foreign = (await app.world.building(await app.world.org())).entityId;
    const put = (device_metadata: Record<string, unknown>) =>
      app.request('PUT', `/devices/${deviceId}`, {
        ...site,
        org: site.orgId,
        body: { device_metadata: { kind: 'virtual_access_portal', ...device_metadata } },
      });
    const parts = [{ entity_id: foreign }];
    expect(place(await put({ virtual_access: { openers: parts } }))[0]).toBe(400);
    expect(place(await put({ virtual_access: { lights: parts } }))).toEqual([
      400,
      expect.stringContaining('/device_metadata/virtual_access/lights/0/entity_id'),
    ]);
    expect(place(await put({ go2rtc_camera_device_ids: [deviceId] }))).toEqual([
      400,
      expect.stringContaining('/device_metadata/go2rtc_camera_device_ids/0'),
    ]);
    expect(place(await put({ kind: 'something' }))[0]).toBe(400);
  });
});

describe('a portal', () => {
  it('opens on every node', async () => {
    const { entityId } = await demoDoor();
    const portal = await site.portal([entityId]);
    const second = await app.secondNode();
    try {
      const { token } = site;
      const action = `/entities/${portal}/actions/switchable.open`;
      for (const node of [app, second]) {
        const answer = await node.request('POST', action, { token, body: {} });
        expect(answer.status, answer.text).toBe(200);
      }
    } finally {
      await second.close();
    }
    const outcomes = (await site.events()).map(({ resource_id, outcome }) => [resource_id, outcome]);
    const once = [
      [entityId, 'succeeded'],
      [portal, 'succeeded'],
    ];
    expect(outcomes).toEqual([...once, ...once]);
  });

  it('is as its first opener with a known state, and invalid without one that is left', async () => {
    const opener = await demoDoor({ auto_close_seconds: 0 });
    const portal = await site.portal([opener.entityId], { entry_kind: 'boom-gate' });
    await vi.waitFor(
      async () => expect((await entity(portal)).state).toMatchObject({ status: 'closed' }),
      soon,
    );
    await site.act(opener.entityId);
    expect(await entity(portal)).toMatchObject({
      entry_kind: 'boom-gate',
      state: { status: 'open', source: 'virtual_demo' },
    });
    await app.db.query('update entities set deleted_at = now() where id = $1', [opener.entityId]);
    expect((await entity(portal)).state).toEqual({
      status: 'invalid',
      reason: 'no opener of the device is left',
    });
    const empty = (await site.device({})).id;
    expect((await entity(empty)).state).toEqual({ status: 'invalid', reason: 'the device has no openers' });
    const listed = await app.request('GET', `/integrations/${site.integrationId}/entities`, site);
    expect((listed.body.items as { state: { status: string } }[]).map(({ state }) => state.status)).toEqual([
      'invalid',
      'invalid',
    ]);
  });

  it('closes all its openers, and toggles by what they show', async () => {
    const [one, other] = [await site.mqttDoor(broker), await demoDoor()];
    const portal = await site.portal([one.id, other.entityId], { open_config: { auto_close_seconds: 0 } });
    expect((await site.act(portal)).status).toBe(200);
    const closed = await site.act(portal, 'close');
    expect(closed.body).toMatchObject({ state: 'closed', state_source: 'observed' });
    expect(one.heard).toEqual(['ON', 'OFF']);
    expect(await site.demoCommands(other.entityId)).toEqual(['close']);
    await vi.waitFor(
      async () => expect((await entity(portal)).state).toMatchObject({ status: 'closed' }),
      soon,
    );
    expect((await site.act(portal, 'toggle')).body.state).toBe('open');
    expect(one.heard).toEqual(['ON', 'OFF', 'ON']);
  });

  it('is as healthy as what it is made of', async () => {
    const [good, paused] = [await demoDoor(), await demoDoor()];
    await site.portal([good.entityId, paused.entityId]);
    const health = async () =>
      (await app.request('GET', `/integrations/${site.integrationId}`, site)).body.health;
    await vi.waitFor(async () => expect(await health()).toBe('ok'), soon);
    const pause = 'update integrations set enabled = false where id = $1';
    await app.db.query(pause, [paused.integrationId]);
    await vi.waitFor(async () => expect(await health()).toBe('reduced'), soon);
    await app.db.query(pause, [good.integrationId]);
    await vi.waitFor(async () => expect(await health()).toBe('error'), soon);
  });

  it('is paused with its site', async () => {
    const portal = await site.portal([(await demoDoor()).entityId]);
    await app.db.query('update integrations set enabled = false where id = $1', [site.integrationId]);
    expect((await site.act(portal)).body.error_code).toBe('integration_disabled');
  });
});

it.each(['directory_listing', 'door'])('a %s of a directory offers no action', async (entityType) => {
  const { id } = await site.device({ kind: 'virtual_access_directory' }, entityType);
  const answer = await site.act(id);
  expect([answer.status, answer.body.error_code]).toEqual([501, 'action_not_implemented']);
});

it('a cabinet of a commissary opens in the same way', async () => {
  const shop = await createPortalSite(app, 'commissary');
  const lock = await app.world.building(shop.orgId);
  const cabinet = await shop.portal([lock.entityId]);
  expect((await shop.act(cabinet)).status).toBe(200);
  expect(await shop.demoCommands(lock.entityId)).toEqual(['open']);
});

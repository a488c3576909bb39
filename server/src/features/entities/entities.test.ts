import type { Entity } from '@lintel/contract/entities';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('entities', () => {
  let app: TestApp;
  let orgId: string;
  let userId: string;
  let building: BuildingIds;
  let token: string;
  const made: Record<string, string> = {};

  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org();
    userId = await app.world.user();
    await app.world.grant(orgId, userId, 'entities:list', 'entities:read');
    token = (await app.world.key(orgId, userId)).token;
    building = await app.world.building(orgId, { enabled: false });
    await app.db.query("update entities set name = 'Main door' where id = $1", [building.entityId]);
    made.door = building.entityId;
    await entity('lamp', 'light', 'aisle Lamp');
    await entity('gate', 'switch', '100% Gate');
    await entity('nameless', 'sensor', null);
    await entity('gone', 'light', 'Old lamp', { deleted: true });
  });
  afterAll(() => app.close());

  async function entity(key: string, type: string, name: string | null, options: { deleted?: boolean } = {}) {
    const id = ulid();
    made[key] = id;
    await app.db.query(
      `insert into entities (org_id, id, device_id, entity_type, name, external_id, metadata, deleted_at)
       values ($1, $2, $3, $4, $5, $7, '{"channel": "1"}', case when $6 then now() end)`,
      [orgId, id, building.deviceId, type, name, options.deleted ?? false, key],
    );
  }
  const get = (path: string, as = token) => app.request('GET', path, { token: as });
  const list = async (query = '', as = token) => {
    const answer = await get(`/entities?${query}`, as);
    expect(answer.status, answer.text).toBe(200);
    const items = answer.body.items as Entity[];
    const keyOf = (id: string) => Object.keys(made).find((key) => made[key] === id);
    return { keys: items.map(({ id }) => keyOf(id)), items, total: answer.body.total };
  };

  it('lists what is live in the order of creation, with the state last seen', async () => {
    await app.db.query(
      `insert into entity_states (org_id, entity_id, status, source, observed_at)
       values ($1, $2, 'open', 'virtual_demo', '2026-01-02T03:04:05Z')`,
      [orgId, made.lamp],
    );
    const { keys, items, total } = await list();
    expect([keys, total]).toEqual([['door', 'lamp', 'gate', 'nameless'], 4]);
    expect(items[0]?.state).toEqual({ status: 'unknown' });
    expect(items[1]).toEqual({
      id: made.lamp,
      device_id: building.deviceId,
      entity_type: 'light',
      name: 'aisle Lamp',
      external_id: 'lamp',
      zone_id: null,
      metadata: { channel: '1' },
      entity_metadata: { channel: '1' },
      state: { status: 'open', source: 'virtual_demo', observed_at: '2026-01-02T03:04:05.000Z' },
      created_at: items[1]?.created_at,
      updated_at: items[1]?.updated_at,
    });
  });

  it.each([
    ['entity_type=light', ['lamp']],
    ['entity_type=light,door', ['door', 'lamp']],
    ['entity_type=%20light%20,', ['lamp']],
    ['q=LAMP', ['lamp']],
    ['q=100%25', ['gate']],
    ['q=%25', ['gate']],
    ['q=_', []],
    ['include_deleted=true', ['door', 'lamp', 'gate', 'nameless', 'gone']],
    ['only_deleted=true', ['gone']],
    ['only_deleted=true&include_deleted=false', ['gone']],
    ['sort=name:asc', ['gate', 'lamp', 'door', 'nameless']],
    ['sort=name:desc', ['door', 'lamp', 'gate', 'nameless']],
    ['sort=created_at:desc', ['nameless', 'gate', 'lamp', 'door']],
    ['limit=2&offset=1', ['lamp', 'gate']],
    ['zone_id=no-such-zone', []],
  ])('?%s', async (query, keys) => {
    expect((await list(query)).keys).toEqual(keys);
  });

  it('counts all that match, on any page', async () => {
    expect(await list('limit=0')).toMatchObject({ items: [], total: 4 });
    expect(await list('limit=1&entity_type=light&include_deleted=true')).toMatchObject({ total: 2 });
  });

  it('filters by zone', async () => {
    expect((await list(`zone_id=${building.zoneId}`)).keys).toEqual(['door']);
  });

  it.each([
    'entity_type=window',
    'entity_type=light,window',
    'sort=name',
    'limit=201',
    'include_deleted=maybe',
  ])('refuses ?%s', async (query) => {
    const { status, body } = await get(`/entities?${query}`);
    expect([status, body.code]).toEqual([400, 'validation_error']);
  });

  it('reads one; a deleted one only when asked to', async () => {
    expect((await get(`/entities/${made.door}`)).body).toMatchObject({ id: made.door, name: 'Main door' });
    expect((await get(`/entities/${made.gone}`)).status).toBe(404);
    const gone = await get(`/entities/${made.gone}?include_deleted=true`);
    expect(gone.body.deleted_at).toEqual(expect.any(String));
  });

  it('another organization’s entity is as unknown as an absent one', async () => {
    const foreign = await app.world.building(await app.world.org());
    const answers = await Promise.all(
      [foreign.entityId, ulid(), 'nonsense'].map((id) => get(`/entities/${id}`)),
    );
    for (const { status, body } of answers) expect([status, body.message]).toEqual([404, 'not found']);
    expect((await list('include_deleted=true')).items.map(({ id }) => id)).not.toContain(foreign.entityId);
  });

  it('a key limited to entities sees those only', async () => {
    const scope = { scopedEntityIds: [String(made.lamp), String(made.gone)] };
    const limited = (await app.world.key(orgId, userId, scope)).token;
    expect(await list('', limited)).toMatchObject({ keys: ['lamp'], total: 1 });
    expect((await list('include_deleted=true', limited)).keys).toEqual(['lamp', 'gone']);
    expect((await get(`/entities/${made.lamp}`, limited)).status).toBe(200);
    expect((await get(`/entities/${made.door}`, limited)).status).toBe(404);
  });

  it('an agent sees what it is allowed, and nothing when nothing is', async () => {
    const tokenOf = async (allowedEntityIds: string[] | null) => {
      const agentId = await app.world.agent(orgId, userId, { allowedEntityIds });
      return (await app.world.key(orgId, userId, { agentId })).token;
    };
    const gatekeeper = await tokenOf([String(made.gate)]);
    expect((await list('', gatekeeper)).keys).toEqual(['gate']);
    expect((await get(`/entities/${made.door}`, gatekeeper)).status).toBe(404);
    expect(await list('', await tokenOf(null))).toMatchObject({ items: [], total: 0 });
  });
});

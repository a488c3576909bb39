import type { Device } from '@lintel/contract/devices';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';
import { pickText } from '../../kernel/text.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('devices', () => {
  let app: TestApp;
  let orgId: string;
  let userId: string;
  let building: BuildingIds;
  let token: string;
  const names: Record<string, Record<string, string>> = {
    both: { en: 'Zebra lock', de: 'Apfelschloss' },
    german: { de: 'Mitteltür' },
    austrian: { 'de-AT': 'Beisltür', en: 'Pub door' },
    french: { fr: 'Porte', it: 'Aporta' },
  };
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org();
    userId = await app.world.user();
    await app.world.grant(orgId, userId, 'devices:list');
    token = (await app.world.key(orgId, userId)).token;
    building = await app.world.building(orgId);
    await app.db.query('update devices set deleted_at = now() where id = $1', [building.deviceId]);
    for (const [key, name] of Object.entries(names)) {
      ids[key] = ulid();
      await app.db.query(
        `insert into devices (org_id, id, integration_id, name, external_id, device_metadata)
         values ($1, $2, $3, $4, case when $5 <> 'french' then 'x-' || $5 end, jsonb_build_object('kind', $5::text))`,
        [orgId, ids[key], building.integrationId, name, key],
      );
    }
  });
  afterAll(() => app.close());

  const list = async (query = '', as = token) => {
    const answer = await app.request('GET', `/devices?${query}`, { token: as });
    expect(answer.status, answer.text).toBe(200);
    const items = answer.body.items as Device[];
    const keyOf = (id: string) => Object.keys(ids).find((key) => ids[key] === id) ?? 'door';
    return { keys: items.map(({ id }) => keyOf(id)), items, total: answer.body.total };
  };

  it('lists what is live in the order of creation', async () => {
    const { keys, items, total } = await list();
    expect([keys, total]).toEqual([['both', 'german', 'austrian', 'french'], 4]);
    expect(items[0]).toEqual({
      id: ids.both,
      org_id: orgId,
      integration_id: building.integrationId,
      name: names.both,
      external_id: 'x-both',
      device_metadata: { kind: 'both' },
      created_at: items[0]?.created_at,
      updated_at: items[0]?.updated_at,
    });
  });

  it.each([
    ['q=apfel', ['both']],
    ['q=DOOR', ['austrian']],
    ['q=de', []],
    ['include_deleted=true', ['door', 'both', 'german', 'austrian', 'french']],
    ['only_deleted=true', ['door']],
    ['sort=created_at:desc', ['french', 'austrian', 'german', 'both']],
    ['sort=name:asc&limit=1', ['german']],
    ['integration_id=nonsense', []],
    ['device_kind=german', ['german']],
    ['device_kind=none', []],
    ['external_id=x-austrian', ['austrian']],
    ['external_id=x-', []],
    ['has_external_id=true', ['both', 'german', 'austrian']],
    ['has_external_id=false', ['french']],
  ])('?%s', async (query, keys) => {
    expect((await list(query)).keys).toEqual(keys);
  });

  it('filters by integration', async () => {
    const other = await app.world.building(orgId);
    expect((await list(`integration_id=${other.integrationId}`)).total).toBe(1);
    expect((await list(`integration_id=${building.integrationId}`)).total).toBe(4);
    await app.db.query('update devices set deleted_at = now() where id = $1', [other.deviceId]);
  });

  it.each(['en', 'de', 'de-AT', 'de-CH', 'fr', 'it-IT', 'ja'])(
    'sorts by the name a reader of %s is shown',
    async (locale) => {
      const shown = (key: string) => pickText(names[key] ?? {}, locale).toLowerCase();
      const expected = Object.keys(names).toSorted((a, b) => (shown(a) < shown(b) ? -1 : 1));
      expect((await list(`sort=name:asc&locale=${locale}`)).keys).toEqual(expected);
      expect((await list(`sort=name:desc&locale=${locale}`)).keys).toEqual(expected.toReversed());
    },
  );

  it('refuses a locale that is none', async () => {
    const { status, body } = await app.request('GET', '/devices?locale=!', { token });
    expect([status, body.details]).toEqual([400, [expect.objectContaining({ path: '/locale' })]]);
  });

  it('a key limited to entities sees their devices only', async () => {
    const scope = { scopedEntityIds: [building.entityId] };
    const limited = (await app.world.key(orgId, userId, scope)).token;
    expect(await list('', limited)).toMatchObject({ keys: [], total: 0 });
    expect(await list('include_deleted=true', limited)).toMatchObject({ keys: ['door'], total: 1 });
  });

  it('another organization’s devices are not there', async () => {
    const foreign = await app.world.building(await app.world.org());
    expect((await list(`integration_id=${foreign.integrationId}`)).items).toEqual([]);
  });
});

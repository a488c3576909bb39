import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

let app: TestApp;
let platform: string;
let orgId: string;
let admin: string;

beforeAll(async () => {
  app = await startTestApp();
  platform = (await app.world.key(rootOrgId, rootAdminId)).token;
  orgId = await app.world.org();
  const adminId = await app.world.user();
  await app.world.grant(orgId, adminId, 'admin');
  admin = (await app.world.key(orgId, adminId)).token;
});
afterAll(() => app.close());

const override = (body: object, token = platform): Promise<Answer> =>
  app.request('POST', '/admin/quota_overrides', {
    token,
    body: { subject_type: 'org', subject_id: orgId, ...body },
  });
const epochOf = async (id: string) =>
  (await app.db.query<{ epoch: string }>('select epoch from org_epochs where org_id = $1', [id]))[0]?.epoch;

interface Item {
  key: string;
  period: string;
  period_label: string;
  current: number;
  limit: { value: number | null; source: object };
}
const usage = async (token = admin) => {
  const answer = await app.request('GET', `/orgs/${orgId}/billing/usage`, { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.body as unknown as {
    tier_slug: string;
    items: Item[];
    degradation: { stage: string; over_capacity: boolean; degradation_level: number; overages: object[] };
  };
};
const itemOf = async (key: string, period: string) =>
  (await usage()).items.find((item) => item.key === key && item.period === period);

describe('limits of an organization’s own', () => {
  it('are for platform administrators only', async () => {
    const body = { quota_key: 'devices', limit_value: 5 };
    expect((await override(body, admin)).status).toBe(403);
    expect((await app.request('GET', '/admin/quota_overrides', { token: admin })).status).toBe(403);
    const made = await override(body);
    expect(made.status, made.text).toBe(200);
    const path = `/admin/quota_overrides/${String(made.body.id)}`;
    expect((await app.request('DELETE', path, { token: admin })).status).toBe(403);
    expect((await app.request('DELETE', path, { token: platform })).status).toBe(204);
    expect((await app.request('DELETE', path, { token: platform })).status).toBe(404);
  });

  it('are changed in place, listed, audited in the organization, and make a new epoch each time', async () => {
    const before = await epochOf(orgId);
    const first = await override({ quota_key: 'zones', limit_value: 3, reason: 'trial' });
    const between = await epochOf(orgId);
    const second = await override({ quota_key: 'zones', limit_value: null });
    expect(second.body).toMatchObject({
      id: first.body.id,
      limit_value: null,
      reason: null,
      period: 'lifetime',
    });
    const epochs = [before, between, await epochOf(orgId)];
    expect(new Set(epochs).size).toBe(3);
    const list = await app.request('GET', `/admin/quota_overrides?subject_id=${orgId}&quota_key=zones`, {
      token: platform,
    });
    expect(list.body).toMatchObject({ total: 1, items: [{ id: first.body.id, quota_key: 'zones' }] });
    const events = await app.db.query(
      `select details ->> 'limit_value' as value from audit_events
       where org_id = $1 and event_type = 'quota_override.set' and resource_id = $2 order by id`,
      [orgId, first.body.id],
    );
    expect(events).toEqual([{ value: '3' }, { value: null }]);
    await app.request('DELETE', `/admin/quota_overrides/${String(first.body.id)}`, { token: platform });
    expect(await epochOf(orgId)).not.toBe(epochs[2]);
  });

  it.each([
    [{ quota_key: 'door_opens', limit_value: 1 }, '/period'],
    [{ quota_key: 'devices', period: 'day', limit_value: 1 }, '/period'],
    [{ quota_key: 'devices', limit_value: 1, expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
    [{ quota_key: 'devices', limit_value: 1, subject_id: ulid() }, '/subject_id'],
    [{ quota_key: 'devices', limit_value: -1 }, '/limit_value'],
    [{ quota_key: 'doors', limit_value: 1 }, '/quota_key'],
  ])('refuse %j', async (body, path) => {
    const answer = await override(body);
    expect([answer.status, answer.body.details?.[0]?.path]).toEqual([400, path]);
  });
});

describe('the quota report', () => {
  it('has every key and period once, with labels of the UTC calendar', async () => {
    const { items, tier_slug } = await usage();
    expect(tier_slug).toBe('standard');
    expect(items).toHaveLength(18);
    const today = new Date().toISOString();
    expect(await itemOf('door_opens', 'day')).toMatchObject({ period_label: `day:${today.slice(0, 10)}` });
    expect(await itemOf('door_opens', 'month')).toMatchObject({ period_label: `month:${today.slice(0, 7)}` });
    expect(await itemOf('api_keys', 'lifetime')).toMatchObject({
      period_label: 'lifetime',
      current: 1,
      limit: { value: null, source: { kind: 'default' } },
    });
  });

  it('tells where a limit comes from: the override, when it is gone the tier, else nobody', async () => {
    await app.db.query(
      `insert into quota_tiers (slug, limits) values ('small', '{"entities:lifetime": 10}')`,
    );
    await app.db.query(`update orgs set tier_slug = 'small' where id = $1`, [orgId]);
    expect((await itemOf('entities', 'lifetime'))?.limit).toEqual({
      value: 10,
      source: { kind: 'tier', slug: 'small' },
    });
    const made = await override({ quota_key: 'entities', limit_value: null });
    expect((await itemOf('entities', 'lifetime'))?.limit).toEqual({
      value: null,
      source: { kind: 'override', id: made.body.id },
    });
    await app.db.query(`update quota_overrides set expires_at = now() - interval '1 s' where org_id = $1`, [
      orgId,
    ]);
    expect((await itemOf('entities', 'lifetime'))?.limit.source).toEqual({ kind: 'tier', slug: 'small' });
    await app.db.query('update orgs set tier_slug = null where id = $1', [orgId]);
    expect((await itemOf('entities', 'lifetime'))?.limit.source).toEqual({ kind: 'default' });
    expect((await usage()).tier_slug).toBe('standard');
  });

  it('tells of limits that are passed, and how much opens are slowed', async () => {
    await app.world.building(orgId);
    expect((await usage()).degradation).toMatchObject({ stage: 'none', over_capacity: false });
    await override({ quota_key: 'entities', limit_value: 0 });
    const answer = await app.request('GET', `/orgs/${orgId}/billing/degradation`, { token: admin });
    expect(answer.body).toMatchObject({
      org_id: orgId,
      stage: 'warned',
      degradation_level: 0,
      over_capacity: true,
      overages: [{ key: 'entities', current: 1, limit: 0, excess: 1 }],
    });
    await override({ quota_key: 'door_opens', period: 'day', limit_value: 0 });
    expect((await usage()).degradation).toMatchObject({ stage: 'degraded', degradation_level: 0.2 });
  });
});

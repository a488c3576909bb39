import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import type { BuildingIds } from '../../../test/support/test-world.ts';

describe('policies', () => {
  let app: TestApp;
  let orgId: string;
  let childId: string;
  let building: BuildingIds;
  let admin: { userId: string; token: string };
  let manager: { userId: string; token: string };

  const person = async (org: string, ...roles: string[]) => {
    const userId = await app.world.user();
    await app.world.grant(org, userId, ...(roles as never[]));
    return { userId, token: (await app.world.key(org, userId)).token };
  };
  const request = (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    token = admin.token,
  ) => app.request(method, path, { token, ...(body === undefined ? {} : { body }) });
  const open = (token = admin.token) =>
    request('POST', `/entities/${building.entityId}/actions/open`, {}, token);

  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org();
    childId = await app.world.org({ parentId: orgId });
    building = await app.world.building(orgId);
    admin = await person(orgId, 'admin');
    manager = await person(orgId, 'policies:manage');
  });
  afterAll(() => app.close());

  it('are set, listed, changed and removed for an organization, and hold at once', async () => {
    const path = `/orgs/${orgId}/policies`;
    const created = await request('POST', path, {
      policy_type: 'quiet_hours',
      config: { start: '00:00', end: '23:59' },
    });
    expect(created).toMatchObject({
      status: 201,
      body: { scope: 'org', org_id: orgId, integration_id: null, enforcement: 'enforce', enabled: true },
    });
    const id = String(created.body.id);
    const denied = await open();
    expect(denied).toMatchObject({ status: 403, body: { code: 'policy_denied' } });
    expect(denied.body.message).toContain(id);
    expect((await request('GET', path)).body).toMatchObject([{ id }]);
    expect(await request('PATCH', `${path}/${id}`, { enforcement: 'audit_only' })).toMatchObject({
      status: 200,
      body: { enforcement: 'audit_only', config: { start: '00:00', end: '23:59' } },
    });
    expect((await open()).status).toBe(200);
    expect((await request('DELETE', `${path}/${id}`)).status).toBe(204);
    expect((await request('DELETE', `${path}/${id}`)).status).toBe(404);
  });

  it('a policy above is not listed below, and is in force there', async () => {
    const above = await request('POST', `/orgs/${orgId}/policies`, {
      policy_type: 'invitation_max_uses',
      config: { max_uses: 3 },
    });
    const child = await person(childId, 'admin');
    const below = (path: string) => app.request('GET', `/orgs/${childId}/${path}`, { token: child.token });
    expect((await below('policies')).body).toEqual([]);
    expect((await below('effective-policies')).body).toMatchObject({
      max_uses: 3,
      policies: [{ id: above.body.id, org_id: orgId }],
    });
    await request('DELETE', `/orgs/${orgId}/policies/${above.body.id}`);
  });

  it('a policy of an integration or a device is found there only', async () => {
    const { integrationId, deviceId } = building;
    const onIntegration = `/integrations/${integrationId}/policies`;
    const onDevice = `/integrations/${integrationId}/devices/${deviceId}/policies`;
    const body = { policy_type: 'require_step_up', config: {}, enabled: false };
    const first = await request('POST', onIntegration, body);
    const second = await request('POST', onDevice, body);
    expect(first.body).toMatchObject({ scope: 'integration', integration_id: integrationId });
    expect(second.body).toMatchObject({ scope: 'device', physical_device_id: deviceId });
    expect((await request('GET', onIntegration)).body).toMatchObject([{ id: first.body.id }]);
    expect((await request('GET', onDevice)).body).toMatchObject([{ id: second.body.id }]);
    expect((await request('PATCH', `${onIntegration}/${second.body.id}`, {})).status).toBe(404);
    expect((await request('DELETE', `/orgs/${orgId}/policies/${first.body.id}`)).status).toBe(404);
  });

  it.each([
    ['an unknown kind', { policy_type: 'no_such', config: {} }, '/policy_type'],
    ['a config of another shape', { policy_type: 'quiet_hours', config: { start: '9' } }, '/config'],
    ['an unknown member', { policy_type: 'require_step_up', config: { x: 1 } }, '/config/x'],
    [
      'a permit in Cedar',
      { policy_type: 'cedar', config: { policy: 'permit (principal, action, resource);' } },
      '/config/policy',
    ],
  ])('refuse %s, and name the place', async (_name, body, path) => {
    const answer = await request('POST', `/orgs/${orgId}/policies`, body);
    expect(answer.status).toBe(400);
    expect(String((answer.body.details as { path: string }[])[0]?.path)).toContain(path);
    expect((await request('GET', `/orgs/${orgId}/policies`)).body).toEqual([]);
  });

  it('the first who sets a policy of a device is its steward; others are refused until it is released', async () => {
    const { integrationId, deviceId } = await app.world.building(orgId);
    const device = `/integrations/${integrationId}/devices/${deviceId}`;
    const body = { policy_type: 'require_step_up', config: {}, enabled: false };
    const status = async (token: string) =>
      (await request('GET', `${device}/physical-device`, undefined, token)).body;
    expect(await status(manager.token)).toMatchObject({
      has_steward: false,
      can_claim: true,
      is_steward: false,
    });
    expect((await request('POST', `${device}/policies`, body, manager.token)).status).toBe(201);
    expect(await status(manager.token)).toMatchObject({
      has_steward: true,
      can_claim: false,
      is_steward: true,
    });
    expect((await request('POST', `${device}/policies`, body)).status).toBe(403);
    const other = await person(orgId, 'policies:manage');
    expect((await request('POST', `${device}/steward/release`, {}, other.token)).status).toBe(403);
    expect((await request('POST', `${device}/steward/release`, {})).status).toBe(204);
    expect((await request('POST', `${device}/policies`, body)).status).toBe(201);
  });

  it('of two who would be steward at once, one is', async () => {
    const { integrationId, deviceId } = await app.world.building(orgId);
    const path = `/integrations/${integrationId}/devices/${deviceId}/policies`;
    const body = { policy_type: 'require_step_up', config: {}, enabled: false };
    const people = await Promise.all([1, 2, 3, 4].map(() => person(orgId, 'policies:manage')));
    const answers = await Promise.all(people.map(({ token }) => request('POST', path, body, token)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403]);
  });

  it('times of day are those of the organization’s zone', async () => {
    const path = `/orgs/${orgId}/timezone`;
    expect(await request('PATCH', path, { timezone: 'Mars/Olympus' })).toMatchObject({ status: 400 });
    expect((await request('PATCH', path, { timezone: 'Pacific/Auckland' })).body).toEqual({
      timezone: 'Pacific/Auckland',
    });
    const local = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Pacific/Auckland',
      hour: '2-digit',
      minute: '2-digit',
    });
    const at = (minutes: number) => local.format(new Date(Date.now() + minutes * 60_000));
    const policy = await request('POST', `/orgs/${orgId}/policies`, {
      policy_type: 'quiet_hours',
      config: { start: at(-5), end: at(5) },
    });
    expect((await open()).status).toBe(403);
    await request('PATCH', path, { timezone: null });
    expect((await request('GET', path)).body).toEqual({ timezone: null });
    expect((await open()).status).toBe(200);
    await request('DELETE', `/orgs/${orgId}/policies/${policy.body.id}`);
  });
});

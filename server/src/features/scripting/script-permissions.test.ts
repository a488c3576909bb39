import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { soon } from '../../../test/support/eventually.ts';
import { resultOf, scripting, scriptSoon, scriptsOf } from '../../../test/support/script-requests.ts';
import { type Answer, startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('what a script may do', { timeout: 240_000 }, () => {
  let app: TestApp;
  let orgId: string;
  let building: BuildingIds;
  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org({ name: 'Tower' });
    building = await app.world.building(orgId, { entityType: 'switch' });
  });
  afterAll(() => app.close());

  const withRoles = async (...roles: string[]) =>
    scriptsOf(app, (await app.world.key(orgId, rootAdminId, { scopedRoles: roles })).token);

  it('is nothing for an agent', async () => {
    const agentId = await app.world.agent(orgId, rootAdminId);
    const { token } = await app.world.key(orgId, rootAdminId, { agentId });
    expect((await scriptsOf(app, token)('1')).status).toBe(403);
  });

  it('needs the role execute somewhere', async () => {
    const without = await withRoles('zones:create');
    expect((await without('1')).body).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('execute'),
    });
    expect(await resultOf(await withRoles('execute'), '1')).toBe(1);
  });

  it('needs it of administrators too', async () => {
    const admin = scriptsOf(app, (await app.world.key(orgId, rootAdminId)).token);
    expect((await admin('1')).body).toMatchObject({ code: 'forbidden' });
    expect(await resultOf(await withRoles('admin', 'execute'), '1')).toBe(1);
  });

  const steps = (): [role: string, script: string][] => [
    ['zones:create', `create("zone", #{ integration_id: "${building.integrationId}", name: "n" })`],
    ['zones:read', `get("zone", "${building.zoneId}")`],
    ['zones:update', `update("zone", "${building.zoneId}", #{ name: "n" })`],
    ['zones:list', 'list("zone")'],
    [
      'devices:create',
      `create("device", #{ org_id: "${orgId}", integration_id: "${building.integrationId}", name: "n" })`,
    ],
    ['devices:read', `get("device", "${building.deviceId}")`],
    ['devices:update', `update("device", "${building.deviceId}", #{ name: "n" })`],
    ['devices:list', 'list("device")'],
    ['entities:create', `create("entity", #{ device_id: "${building.deviceId}", entity_type: "light" })`],
    ['entities:read', `get("entity", "${building.entityId}")`],
    ['entities:update', `update("entity", "${building.entityId}", #{ name: "n" })`],
    ['entities:list', 'list("entity")'],
    ['entities:set_state', `toggle_entity("${building.entityId}")`],
    ['entities:read', `has_image("entity", "${building.entityId}")`],
    ['integrations:create', `create("integration", #{ org_id: "${orgId}", provider_type: "virtual_demo" })`],
    ['integrations:read', `get("integration", "${building.integrationId}")`],
    ['integrations:update', `update("integration", "${building.integrationId}", #{ enabled: true })`],
    ['integrations:list', 'list("integration")'],
    ['orgs:read', `get("org", "${orgId}")`],
    ['orgs:update', `update("org", "${orgId}", #{ description: "d" })`],
    ['users:list', 'list("user")'],
  ];

  it('is what the role of each step allows, really and in a plan; nobody can catch a refusal', async () => {
    for (const [role, script] of steps()) {
      const named = expect.stringContaining(role);
      const other = role.startsWith('audit') ? 'copilot:use' : 'audit:read';
      for (const plan of [false, true]) {
        const refused = await (await withRoles('execute', other))(`try { ${script} } catch { }; 1`, { plan });
        expect([script, refused.status, refused.body.code]).toEqual([script, 400, 'script_error']);
        expect(refused.body.message).toEqual(named);
        const allowed = await (await withRoles('execute', role))(script, { plan });
        expect([script, plan, allowed.status, allowed.body.message]).toEqual([script, plan, 200, undefined]);
      }
    }
  });

  it.each([
    ['zones', 'zone'],
    ['entities', 'entity'],
  ])('lets those remove %s who may', async (plural, kind) => {
    const fields =
      kind === 'zone'
        ? `#{ integration_id: "${building.integrationId}", name: "n" }`
        : `#{ device_id: "${building.deviceId}", entity_type: "light" }`;
    const script = `let it = create("${kind}", ${fields}); delete("${kind}", it.id); purge("${kind}", it.id); 1`;
    const refused = await (await withRoles('execute', `${plural}:create`))(script);
    expect(refused.body.message).toContain(`${plural}:delete`);
    expect(await resultOf(await withRoles('execute', `${plural}:create`, `${plural}:delete`), script)).toBe(
      1,
    );
  });

  it('stops at the first refusal, and what was done before stays; the refusal has its event', async () => {
    const answer = await (await withRoles('execute', 'zones:create'))(`
      print("first");
      create("zone", #{ integration_id: "${building.integrationId}", name: "stays" });
      delete("zone", "${building.zoneId}");
      print("never");`);
    expect(answer.body).toMatchObject({ code: 'script_error', output: ['first'], details: [{ line: 4 }] });
    const events = await app.db.query(
      'select event_type, outcome, source from audit_events where correlation_id = $1 order by id',
      [answer.headers['x-request-id']],
    );
    expect(events).toEqual([
      { event_type: 'zone.created', outcome: 'succeeded', source: 'scripting' },
      { event_type: 'zone.deleted', outcome: 'denied', source: 'scripting' },
      { event_type: 'scripting.executed', outcome: 'failed', source: 'api' },
    ]);
  });

  it('reaches nothing of another organization, which is as absent as what never was', async () => {
    const otherOrg = await app.world.org({ name: 'Other' });
    const other = await app.world.building(otherOrg);
    const admin = await app.world.user();
    await app.world.grant(orgId, admin, 'admin');
    const run = scriptsOf(app, (await app.world.key(orgId, admin, scripting)).token);
    for (const plan of [false, true]) {
      const script = `[get("zone", "${other.zoneId}"), get("org", "${otherOrg}"), get("user", "${rootAdminId}"),
        list("entity").some(|it| it.id == "${other.entityId}"), list("org").some(|it| it.id == "${otherOrg}")]`;
      expect(await resultOf(run, script, { plan })).toEqual([null, null, null, false, false]);
      const attempts = [
        `update("zone", "${other.zoneId}", #{ name: "x" })`,
        `purge("entity", "${other.entityId}")`,
        `toggle_entity("${other.entityId}")`,
        `create("zone", #{ integration_id: "${other.integrationId}", name: "x" })`,
        `create("device", #{ org_id: "${otherOrg}", integration_id: "${other.integrationId}", name: "x" })`,
        `create("device", #{ org_id: "${orgId}", integration_id: "${other.integrationId}", name: "x" })`,
        `create("org", #{ name: "x", parent_id: "${otherOrg}" })`,
        `list("zone", #{ org_id: "${otherOrg}" })`,
        `has_image("zone", "${other.zoneId}")`,
        `create("user", #{ name: "x", email: "${ulid()}@x.test", roles: #{ "${otherOrg}": ["execute"] } })`,
        `create("user", #{ name: "x", email: "${ulid()}@x.test" })`,
      ];
      for (const attempt of attempts)
        expect([attempt, (await run(attempt, { plan })).status]).toEqual([attempt, 400]);
    }
  });

  it('makes organizations below one that is administered, which inherit its administrators and grant nothing', async () => {
    const admin = await app.world.user();
    await app.world.grant(orgId, admin, 'admin');
    const run = scriptsOf(app, (await app.world.key(orgId, admin, scripting)).token);
    const script = `let floor = create("org", #{ name: "Floor", parent_id: "${orgId}" });
      let room = create("org", #{ name: "Room", parent_id: floor.id });
      let hub = create("integration", #{ org_id: room.id, provider_type: "virtual_demo" });
      create("zone", #{ integration_id: hub.id, name: "Desk" });
      [list("zone", #{ org_id: room.id }).len, list("zone").some(|z| z.integration_id == hub.id), room.user_roles.len(), floor.id]`;
    for (const plan of [true, false]) {
      const result = (await resultOf(run, script, { plan })) as unknown[];
      expect(result.slice(0, 3)).toEqual([1, true, 0]);
    }
    const member = await app.world.user();
    await app.world.grant(orgId, member, 'execute', 'orgs:create', 'orgs:update');
    const weak = scriptsOf(app, (await app.world.key(orgId, member)).token);
    for (const plan of [true, false])
      expect((await weak(script, { plan })).body.message).toMatch(/forbidden: this needs the role admin/);
  });

  it('counts each script, and refuses it when the day’s are used up', async () => {
    const own = await app.world.org({ name: 'Limited' });
    const admin = scriptsOf(app, (await app.world.key(rootOrgId, rootAdminId, scripting)).token);
    await app.request('POST', '/admin/quota_overrides', {
      token: (await app.world.key(rootOrgId, rootAdminId, scripting)).token,
      body: { subject_type: 'org', subject_id: own, quota_key: 'scripting_executions', limit_value: 2 },
    });
    expect((await admin('1', { org: own })).status).toBe(200);
    expect((await admin('1', { org: own, plan: true })).status).toBe(200);
    const refused = await admin('1', { org: own });
    expect([refused.status, refused.body.code]).toEqual([429, 'quota_exceeded']);
  });

  it('is bound by the limits of the organization, step by step', async () => {
    const own = await app.world.org({ name: 'Small' });
    const { integrationId } = await app.world.building(own);
    const { token } = await app.world.key(rootOrgId, rootAdminId, scripting);
    const body = { subject_type: 'org', subject_id: own, quota_key: 'zones', limit_value: 2 };
    await app.request('POST', '/admin/quota_overrides', { token, body });
    const answer = await scriptsOf(
      app,
      token,
    )(`
      for i in 0..3 { print(create("zone", #{ integration_id: "${integrationId}", name: "z" }).id); }`);
    expect([answer.body.message, answer.body.output?.length]).toEqual([
      expect.stringContaining('quota_exceeded'),
      1,
    ]);
  });

  it('ends with the key it was begun with', async () => {
    const key = await app.world.key(orgId, rootAdminId, scripting);
    const started = scriptsOf(app, key.token)(`loop { toggle_entity("${building.entityId}"); sleep(0.2); }`);
    const steps = () =>
      app.db.query(
        `select from audit_events where event_type = 'entity.action' and outcome = 'succeeded' and actor_api_key_id = $1`,
        [key.id],
      );
    await vi.waitFor(async () => expect(await steps()).not.toEqual([]), scriptSoon);
    await app.db.query('update api_keys set revoked_at = now() where id = $1', [key.id]);
    const answer = await started;
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining('unauthorized')]);
  });

  it('is two scripts at once in an organization', async () => {
    const own = await app.world.org({ name: 'Busy' });
    const { zoneId } = await app.world.building(own);
    const run = scriptsOf(app, (await app.world.key(own, rootAdminId, scripting)).token);
    // They run until the zone is renamed: none makes room for another before that.
    const script = `while get("zone", "${zoneId}").name.en != "Go" { sleep(0.2); }`;
    const refused: Answer[] = [];
    const answers = [1, 2, 3, 4].map(async () => {
      const answer = await run(script);
      if (answer.status === 429) refused.push(answer);
      return answer.status;
    });
    await vi.waitFor(() => expect(refused).toHaveLength(2), soon);
    await app.db.query('update zones set name = $2 where id = $1', [zoneId, { en: 'Go' }]);
    expect((await Promise.all(answers)).sort()).toEqual([200, 200, 429, 429]);
    expect([refused[0]?.body.code, refused[0]?.headers['retry-after']]).toEqual(['rate_limited', '5']);
    expect(await resultOf(run, '1')).toBe(1);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resultOf, type Script, scripting, scriptsOf } from '../../../test/support/script-requests.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId, rootOrgId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('the records of a script', { timeout: 240_000 }, () => {
  let app: TestApp;
  let orgId: string;
  let building: BuildingIds;
  let run: Script;
  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org({ name: 'Tower' });
    building = await app.world.building(orgId, { entityType: 'switch' });
    run = scriptsOf(app, (await app.world.key(rootOrgId, rootAdminId, scripting)).token);
  });
  afterAll(() => app.close());

  const failure = async (script: string): Promise<string> => {
    const answer = await run(script);
    expect([answer.status, answer.body.code]).toEqual([400, 'script_error']);
    return String(answer.body.message);
  };

  /** For each kind: what makes one, what changes it, and a member that shows the change. */
  const kinds = (): [kind: string, plural: string, fields: string, patch: string, shown: string][] => [
    [
      'user',
      'users',
      `#{ name: "Ada", email: "${ulid()}@x.test", roles: #{ "${orgId}": ["zones:list"] } }`,
      '#{ name: "Bea" }',
      'name.en == "Bea"',
    ],
    [
      'org',
      'orgs',
      `#{ name: "Floor", parent_id: "${orgId}" }`,
      '#{ description: "d" }',
      'description == "d"',
    ],
    [
      'integration',
      'integrations',
      `#{ org_id: "${orgId}", provider_type: "virtual_demo" }`,
      '#{ enabled: false }',
      'enabled == false',
    ],
    [
      'zone',
      'zones',
      `#{ integration_id: "${building.integrationId}", name: "Hall" }`,
      '#{ name: "Attic" }',
      'name.en == "Attic"',
    ],
    [
      'device',
      'devices',
      `#{ org_id: "${orgId}", integration_id: "${building.integrationId}", name: "Lock" }`,
      '#{ name: "Bolt" }',
      'name.en == "Bolt"',
    ],
    [
      'entity',
      'entities',
      `#{ device_id: "${building.deviceId}", entity_type: "light", metadata: #{ a: "b" } }`,
      '#{ name: "Lamp" }',
      'name == "Lamp"',
    ],
  ];

  it.each([0, 1, 2, 3, 4, 5])('live and die by the operations of their kind (%i)', async (index) => {
    const [kind, plural, fields, patch, shown] = kinds()[index] ?? [];
    const answer = await run(`
      let made = create("${kind}", ${fields});
      let id = made.id;
      assert(get("${plural}", id).id == id, "get");
      assert(update("${kind}", id, ${patch}).${shown}, "update");
      assert(list("${plural}").some(|it| it.id == id), "listed");
      assert(delete("${kind}", id).deleted_at != (), "delete");
      assert(get("${kind}", id) == (), "hidden");
      assert(get("${kind}", id, #{ include_deleted: true }).id == id, "shown");
      assert(get("${kind}", id, #{ only_deleted: true }).id == id, "only");
      assert(!list("${kind}").some(|it| it.id == id), "not listed");
      assert(list("${plural}", #{ only_deleted: true }).some(|it| it.id == id), "listed as deleted");
      assert(purge("${kind}", id).id == id, "purge");
      assert(get("${kind}", id, #{ include_deleted: true }) == (), "gone");
      id`);
    expect(answer.text).toMatch(/^\{"result":"[0-9A-Z]{26}"/);
    const events = await app.db.query<{ event_type: string; source: string }>(
      'select event_type, source from audit_events where correlation_id = $1 order by id',
      [answer.headers['x-request-id']],
    );
    expect(events).toEqual([
      ...['created', 'updated', 'deleted', 'purged'].map((what) => ({
        event_type: `${kind}.${what}`,
        source: 'scripting',
      })),
      { event_type: 'scripting.executed', source: 'api' },
    ]);
  });

  it('take the id of a user and an organization from the script', async () => {
    const [user, org] = [ulid(), ulid()];
    const made = await resultOf(
      run,
      `[create("user", #{ id: "${user}", name: "A", email: "${user}@x.test", roles: #{ "${orgId}": ["execute"] } }),
        create("org", #{ id: "${org}", name: "B" })]`,
    );
    expect(made).toMatchObject([
      { id: user, roles: { [orgId]: ['execute'] } },
      { id: org, parent_id: rootOrgId },
    ]);
  });

  it.each<[string, RegExp]>([
    ['create("tree", #{})', /validation_error: there is no kind "tree"; there are user, org/],
    ['create("zone", #{ name: "x" })', /validation_error: integration_id is required: a ULID/],
    ['create("zone", #{ integration_id: "01", name: "x" })', /integration_id must be a ULID/],
    ['create("user", #{ name: 1, email: "a@b.test" })', /name must be a string/],
    [
      'create("user", #{ name: "a", email: "a@b.test", phone: "+123456" })',
      /"phone" is no field of user here; there are name/,
    ],
    [
      'create("entity", #{ device_id: DEVICE, entity_type: "door" })',
      /entity_type must be one of switch, light, sensor/,
    ],
    [
      'create("entity", #{ device_id: DEVICE, entity_type: "light", channel_index: 1 })',
      /"channel_index" is not supported in scripts/,
    ],
    [
      'create("entity", #{ device_id: DEVICE, entity_type: "light", metadata: #{ a: 1 } })',
      /metadata must be a map of strings/,
    ],
    [
      'update("integration", ABSENT, #{ provider_type: "knx" })',
      /"provider_type" is no field of integration here/,
    ],
    ['update("zone", ABSENT, #{ name: "x" })', /not_found: not found/],
    ['get("zone", "nonsense")', /validation_error: "nonsense" is not a ULID/],
    ['get("zone", ABSENT, #{ deep: true })', /"deep" is no option/],
    ['list("zone", #{ include_deleted: 1 })', /include_deleted must be a bool/],
    [
      'create("device", #{ org_id: ORG, integration_id: ABSENT, name: "x" })',
      /validation_error: .*integration_id/,
    ],
    [
      'create("integration", #{ org_id: ORG, provider_type: "virtual_demo", config: #{ n: 9223372036854775807 } })',
      /too large a number/,
    ],
    ['create("zone", #{ integration_id: INTEGRATION, name: "a\\x00b" })', /NUL/],
    ['delete("device", DEVICE)', /has_children: /],
    ['create("zone")', /Function not found/],
    ['assert(false)', /assertion failed/],
    ['assert(1 == 2, "numbers are odd")', /numbers are odd/],
  ])('are refused with a short text and a code: %s', async (script, text) => {
    const names = {
      DEVICE: building.deviceId,
      ORG: orgId,
      INTEGRATION: building.integrationId,
      ABSENT: ulid(),
    };
    const constants = Object.entries(names).map(([name, value]) => `const ${name} = "${value}";`);
    expect(await failure(`${constants.join(' ')} ${script}`)).toMatch(text);
  });

  it('answer with () for what is not there', async () => {
    expect(await resultOf(run, `get("device", ulid()) == () && get("users", ulid()) == ()`)).toBe(true);
  });

  it('let a script catch what went wrong, and go on', async () => {
    const text = await resultOf(
      run,
      `let text = ""; try { delete("zone", ulid()); } catch (e) { text = "caught " + e; } text`,
    );
    expect(text).toBe('caught not_found: not found');
  });

  it('are listed over more than one page, and below an organization by its id', async () => {
    const script = `for i in 0..205 { create("zone", #{ integration_id: "${building.integrationId}", name: "z" + i }); }
      [list("zone").len >= 205, list("zone", #{ org_id: "${orgId}" }).len >= 205, list("zone", #{ org_id: create("org", #{ name: "E" }).id }).len]`;
    expect(await resultOf(run, script)).toEqual([true, true, 0]);
  });

  it('refuse an external id where the provider has none, in a plan too', async () => {
    const own = await app.world.building(orgId);
    await app.db.query(`update integrations set provider_type = 'mqtt' where id = $1`, [own.integrationId]);
    const script = `create("entity", #{ device_id: "${own.deviceId}", entity_type: "switch", external_id: "7" })`;
    for (const plan of [false, true])
      expect((await run(script, { plan })).body.message).toMatch(
        /validation_error: .*external_id: is not used/,
      );
  });

  it('act on hardware as an entity action does, and toggle', async () => {
    const script = `let opened = entity_action("${building.entityId}", "open", #{});
      let back = toggle_entity("${building.entityId}");
      [opened.outcome, opened.action_id, back.action_id]`;
    const answer = await run(script);
    expect(answer.body.result).toEqual(['succeeded', 'switchable.open', 'switchable.toggle']);
    const events = await app.db.query(
      `select outcome, source from audit_events where correlation_id = $1 and event_type = 'entity.action'`,
      [answer.headers['x-request-id']],
    );
    expect(events).toEqual([
      { outcome: 'succeeded', source: 'scripting' },
      { outcome: 'succeeded', source: 'scripting' },
    ]);
    expect(await failure(`entity_action("${building.entityId}", "explode", #{})`)).toMatch(
      /action_not_implemented/,
    );
  });

  it('sleep, but not longer than they may', async () => {
    expect(await resultOf(run, 'sleep(0.01); sleep_ms(5); sleep(-1); ulid().len')).toBe(26);
  });
});

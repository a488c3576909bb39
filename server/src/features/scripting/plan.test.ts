import type { ScriptChange } from '@lintel/contract/scripting';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changedTables, snapshotDatabase } from '../../../test/support/scenario-snapshot.ts';
import { type Script, scripting, scriptsOf } from '../../../test/support/script-requests.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { type BuildingIds, rootAdminId } from '../../../test/support/test-world.ts';
import { ulid } from '../../kernel/ulid.ts';

describe('a plan', { timeout: 240_000 }, () => {
  let app: TestApp;
  let orgId: string;
  let building: BuildingIds;
  let run: Script;
  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org({ name: 'Planned' });
    building = await app.world.building(orgId, { entityType: 'switch' });
    run = scriptsOf(app, (await app.world.key(orgId, rootAdminId, scripting)).token);
  });
  afterAll(() => app.close());

  it('lists what a script would change, sees it in later steps, and changes nothing', async () => {
    const before = await snapshotDatabase(app.db);
    const answer = await run(
      `let floor = create("org", #{ name: "Floor", parent_id: "${orgId}" });
       let hub = create("integration", #{ org_id: floor.id, provider_type: "virtual_demo" });
       let zone = create("zone", #{ integration_id: hub.id, name: "Hall" });
       let lock = create("device", #{ org_id: floor.id, integration_id: hub.id, name: "Lock" });
       let door = create("entity", #{ device_id: lock.id, entity_type: "switch", zone_id: zone.id, name: "Door" });
       sleep(30); sleep_ms(30000);
       update("entity", door.id, #{ name: "Gate" });
       entity_action(door.id, "open", #{});
       toggle_entity("${building.entityId}");
       delete("entity", "${building.entityId}");
       assert(get("entity", "${building.entityId}") == ());
       assert(get("entity", "${building.entityId}", #{ only_deleted: true }) != ());
       assert(get("entity", door.id).name == "Gate");
       assert(list("entity").map(|it| it.id) == [door.id]);
       assert(list("zones", #{ org_id: floor.id }).len == 1);
       assert(get("zone", zone.id).name.en == "Hall");
       purge("entity", door.id);
       [hub.provider_type_name.len() > 0, list("entity").len, list("org").some(|it| it.id == floor.id)]`,
      { plan: true },
    );
    expect([answer.text, answer.body.result]).toEqual([answer.text, [true, 0, true]]);
    const changes = answer.body.changes as ScriptChange[];
    expect(changes.map(({ op, kind }) => `${op} ${kind}`)).toEqual([
      ...[
        'create org',
        'create integration',
        'create zone',
        'create device',
        'create entity',
        'update entity',
      ],
      ...['action entity', 'action entity', 'delete entity', 'purge entity'],
    ]);
    expect(changes[5]).toMatchObject({ id: changes[4]?.id, fields: { name: 'Gate' } });
    const left = changedTables(before, await snapshotDatabase(app.db)).filter(
      (table) => !/audit|counter|quota/.test(table),
    );
    expect(left).toEqual([]);
    const events = await app.db.query(
      'select event_type, details from audit_events where correlation_id = $1',
      [answer.headers['x-request-id']],
    );
    expect(events).toMatchObject([
      { event_type: 'scripting.executed', details: { plan: true, changes: 10 } },
    ]);
  });

  it('is refused what the script would be refused', async () => {
    const userId = await app.world.user({ email: `${ulid()}@example.org` });
    await app.world.grant(orgId, userId, 'zones:list');
    const roles = `roles: #{ "${orgId}": ["zones:list"] }`;
    const device = `#{ org_id: "${orgId}", integration_id: "${building.integrationId}", name: "D" }`;
    const attempts: [script: string, code: RegExp][] = [
      [`delete("device", "${building.deviceId}")`, /has_children/],
      [`delete("integration", "${building.integrationId}")`, /has_children/],
      [`purge("org", "${orgId}")`, /has_children/],
      [
        `create("integration", #{ org_id: "${orgId}", provider_type: "nothing" })`,
        /validation_error: .*provider_type/,
      ],
      [
        `create("entity", #{ device_id: "${ulid()}", entity_type: "light" })`,
        /validation_error: .*device_id/,
      ],
      [
        `create("entity", #{ device_id: "${building.deviceId}", entity_type: "light", zone_id: "${ulid()}" })`,
        /zone_id/,
      ],
      [`update("zone", "${ulid()}", #{ name: "x" })`, /not_found/],
      [
        `let d = create("device", ${device}); purge("device", d.id); update("device", d.id, #{ name: "x" })`,
        /not_found/,
      ],
      [`let d = create("device", ${device}); delete("device", d.id); delete("device", d.id)`, /not_found/],
      [`update("zone", "${building.zoneId}", #{ parent_zone_id: "${building.zoneId}" })`, /parent_zone_id/],
      [`update("zone", "${building.zoneId}", #{ name: "a\u202eb" })`, /validation_error: .*name/],
      [`entity_action("${building.entityId}", "explode", #{})`, /action_not_implemented/],
      [`create("org", #{ id: "${orgId}", name: "x", parent_id: "${orgId}" })`, /already_exists/],
      [`update("org", "${orgId}", #{ parent_id: "${orgId}" })`, /org_cycle/],
      [`create("user", #{ ${roles}, name: "Ada", email: "no address" })`, /validation_error: .*email/],
      [`create("user", #{ ${roles}, name: "Ada", email: "TAKEN@example.org" })`, /already_exists/],
      [`update("user", "${userId}", #{ email: "taken@example.org" })`, /already_exists/],
      [`update("user", "${userId}", #{ email: "@" })`, /validation_error: .*email/],
      [
        `let mail = ulid() + "@example.org";
         create("user", #{ ${roles}, name: "A", email: mail }); create("user", #{ ${roles}, name: "B", email: mail })`,
        /already_exists/,
      ],
      [
        `let child = create("zone", #{ integration_id: "${building.integrationId}", name: "c", parent_zone_id: "${building.zoneId}" });
         let inner = create("zone", #{ integration_id: "${building.integrationId}", name: "i", parent_zone_id: child.id });
         update("zone", "${building.zoneId}", #{ parent_zone_id: inner.id })`,
        /parent_zone_id: is the zone itself or below it/,
      ],
    ];
    await app.world.user({ email: 'taken@example.org' });
    for (const [script, code] of attempts) {
      const planned = await run(script, { plan: true });
      expect([script, planned.status, String(planned.body.message)]).toEqual([
        script,
        400,
        expect.stringMatching(code),
      ]);
      const real = await run(script);
      expect([script, real.status, String(real.body.message)]).toEqual([
        script,
        400,
        expect.stringMatching(code),
      ]);
    }
  });

  it('tells whoever does not administer the root that a new organization needs a parent', async () => {
    const ownerId = await app.world.user({ email: `${ulid()}@example.org` });
    await app.world.grant(orgId, ownerId, 'admin', 'execute');
    const runAsOwner = scriptsOf(app, (await app.world.key(orgId, ownerId)).token);
    const script = 'try { create("org", #{ name: "x" }); } catch { } 1';
    for (const plan of [true, false])
      expect((await runAsOwner(script, { plan })).body).toMatchObject({
        code: 'script_error',
        message: expect.stringContaining('forbidden: name a parent_id'),
      });
  });

  it('says which capacity would be used up, at the step where the run would', async () => {
    const org = await app.world.org({ name: 'Small' });
    const { integrationId, deviceId, entityId } = await app.world.building(org);
    await app.db.query(
      `insert into quota_overrides (org_id, id, quota_key, period, limit_value) values ($1, $2, 'devices', 'lifetime', 2)`,
      [org, ulid()],
    );
    const runHere = scriptsOf(app, (await app.world.key(org, rootAdminId, scripting)).token);
    const script = `fn make() { create("device", #{ org_id: "${org}", integration_id: "${integrationId}", name: "D" }) }
      let said = [];
      let first = make();
      try { make(); said.push("room"); } catch (e) { said.push(e.split(" (")[0]); }
      delete("device", first.id); let second = make();
      delete("entity", "${entityId}"); delete("device", "${deviceId}"); make();
      try { make(); said.push("room"); } catch (e) { said.push(e.split(" (")[0]); }
      said`;
    const planned = await runHere(script, { plan: true });
    expect(planned.body.result).toEqual([
      expect.stringMatching(/^quota_exceeded: .*devices.* 2 of 2/),
      expect.stringMatching(/^quota_exceeded: .*devices.* 2 of 2/),
    ]);
    expect((await runHere(script)).body.result).toEqual(planned.body.result);
  });

  it('says when a deleted record would be gone', async () => {
    const script = `let d = create("device", #{ org_id: "${orgId}", integration_id: "${building.integrationId}", name: "D" });
      let gone = delete("device", d.id).keys(); purge("device", d.id); gone`;
    const planned = await run(script, { plan: true });
    expect(planned.body.result).toEqual((await run(script)).body.result);
    expect(planned.body.result).toEqual(expect.arrayContaining(['deleted_at', 'purge_at', 'hard_delete_at']));
  });

  /** Steps over variables, some of which fail: a failed step is caught and leaves nothing. */
  const step = fc.oneof(
    fc.record({ do: fc.constant('zone' as const), under: fc.nat(6) }),
    fc.record({ do: fc.constant('device' as const), under: fc.nat(6) }),
    fc.record({ do: fc.constant('entity' as const), under: fc.nat(6) }),
    fc.record({ do: fc.constantFrom('rename', 'delete', 'purge', 'open'), under: fc.nat(6) }),
  );
  type Step = { readonly do: string; readonly under: number };

  const lineOf = ({ do: what, under }: Step): string => {
    const at = `made[${under} % made.len()]`;
    switch (what) {
      case 'zone':
        return `#{ k: "zone", r: create("zone", #{ integration_id: HUB, name: "z", parent_zone_id: if ${at}.k == "zone" { ${at}.r.id } else { () } }) }`;
      case 'device':
        return `#{ k: "device", r: create("device", #{ org_id: ORG, integration_id: HUB, name: "d" }) }`;
      case 'entity':
        return `#{ k: "entity", r: create("entity", #{ device_id: ${at}.r.id, entity_type: "light", metadata: #{ a: "1" } }) }`;
      case 'rename':
        return `#{ k: ${at}.k, r: update(${at}.k, ${at}.r.id, #{ name: "new" }) }`;
      case 'open':
        return `{ entity_action(${at}.r.id, "open", #{}); ${at} }`;
      default:
        return `#{ k: ${at}.k, r: ${what}(${at}.k, ${at}.r.id) }`;
    }
  };

  const scriptOf = (steps: readonly Step[]): string => `
    const ORG = "${orgId}"; const HUB = "${building.integrationId}";
    let made = [#{ k: "device", r: create("device", #{ org_id: ORG, integration_id: HUB, name: "first" }) }];
    ${steps.map((each, n) => `try { made.push(${lineOf(each)}); } catch (e) { print("${n} " + e); }`).join('\n')}
    [made.map(|it| it.k), list("device").len, list("zone").len, list("entity", #{ include_deleted: true }).len]`;

  it('foretells the changes, results and errors of the real run, for any script', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const script = scriptOf(steps);
        const planned = await run(script, { plan: true });
        const real = await run(script);
        expect(planned.body.result).toEqual(real.body.result);
        expect(codesIn(planned.body.output)).toEqual(codesIn(real.body.output));
        const events = await app.db.query<{ event_type: string }>(
          `select event_type from audit_events where correlation_id = $1 and source = 'scripting' order by id`,
          [real.headers['x-request-id']],
        );
        const changes = planned.body.changes as ScriptChange[];
        expect(changes.map(eventOf)).toEqual(events.map(({ event_type }) => event_type));
      }),
      { numRuns: 20 },
    );
  });
});

/** Without the words behind the code. */
const codesIn = (output: readonly string[] = []): string[] => output.map((text) => text.split(':')[0] ?? '');

const past = { create: 'created', update: 'updated', delete: 'deleted', purge: 'purged' } as const;

const eventOf = ({ op, kind }: ScriptChange): string =>
  op === 'action' || op === 'upload_image' ? `${kind}.action` : `${kind}.${past[op]}`;

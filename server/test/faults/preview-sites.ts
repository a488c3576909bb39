// Organizations with callers of every kind and doors, under policies that are generated as for test 35.
import { ulid } from '../../src/kernel/ulid.ts';
import type { StoredPolicy } from '../../src/policy/org-policies.ts';
import { type DecisionWorld, generateWorld, type Random } from '../support/decision-worlds.ts';
import { signIn } from '../support/scenario-signin.ts';
import type { TestApp } from '../support/test-app.ts';

/** A request that can be previewed and executed. */
export interface ActionCase {
  readonly caller: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly entityId: string;
  readonly action: string;
  readonly body: object;
  /** Every caller asks for one door by requests, and for the others past the edge. */
  readonly isByRequest: boolean;
}

export interface PreviewSite {
  readonly orgId: string;
  readonly cases: readonly ActionCase[];
  /** Other policies; an instant at which some of them hold. */
  renew(random: Random): Promise<{ nowMs: number }>;
}

/** What the generated policies call by short names. */
type Names = Readonly<Record<string, string>>;

export async function createPreviewSite(app: TestApp): Promise<PreviewSite> {
  const root = await app.world.org();
  const mid = await app.world.org({ parentId: root });
  const leaf = await app.world.org({ parentId: mid });
  const names = { root, mid, leaf, ...(await doorsOf(app, leaf)) };
  const callers = await callersOf(app, names);
  const doors = ['e0', 'e1', 'e2'].map((name) => named(names, name));
  const cases = Object.entries(callers).flatMap(([caller, headers]) =>
    doors.flatMap((entityId, index) => {
      const each = { caller, headers, entityId, isByRequest: index === 0 };
      return [
        { ...each, action: 'open', body: index === 0 ? {} : { auto_close: index } },
        { ...each, action: 'close', body: {} },
      ];
    }),
  );
  return {
    orgId: leaf,
    cases,
    renew: async (random) => {
      const world = generateWorld(random);
      // Before the wait: sites share the numbers, and must draw them in the same order in every run of a seed.
      const { nowMs } = world.next();
      await putPolicies(app, names, world);
      return { nowMs };
    },
  };
}

function named(names: Names, name: string): string {
  const id = names[name];
  if (id === undefined) throw new Error(`nothing is called ${name}`);
  return id;
}

/** Three doors in two integrations; two of them are the second output of their device, each in its own way. */
async function doorsOf(app: TestApp, orgId: string): Promise<Names> {
  const config = { auto_close_seconds: 0 };
  const [first, second] = [
    await app.world.building(orgId, { config }),
    await app.world.building(orgId, { config }),
  ];
  const third = { deviceId: ulid(), entityId: ulid() };
  await app.db.query(
    `insert into devices (org_id, id, integration_id, name) values ($1, $2, $3, '{"en":"Door"}')`,
    [orgId, third.deviceId, first.integrationId],
  );
  await app.db.query(
    `insert into entities (org_id, id, device_id, zone_id, entity_type, name) values ($1, $2, $3, $4, 'door', 'Back door')`,
    [orgId, third.entityId, third.deviceId, first.zoneId],
  );
  await app.db.query(`update entities set metadata = '{"channel_index": "2"}' where id = $1`, [
    first.entityId,
  ]);
  await app.db.query(`update devices set external_id = 'gate:2' where id = $1`, [second.deviceId]);
  return {
    i0: first.integrationId,
    i1: second.integrationId,
    d0: first.deviceId,
    d1: second.deviceId,
    d2: third.deviceId,
    e0: first.entityId,
    e1: second.entityId,
    e2: third.entityId,
  };
}

async function callersOf(app: TestApp, names: Names): Promise<Record<string, Record<string, string>>> {
  const { world } = app;
  const [mid, leaf, e0, e1, e2] = ['mid', 'leaf', 'e0', 'e1', 'e2'].map((name) => named(names, name)) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const [admin, member, reader] = [await world.user(), await world.user(), await world.user()];
  await world.grant(mid, admin, 'admin');
  await world.grant(leaf, member, 'entities:set_state');
  await world.grant(leaf, reader, 'entities:read');
  const key = async (userId: string, options: Parameters<typeof world.key>[2] = {}) => ({
    authorization: `Bearer ${(await world.key(leaf, userId, options)).token}`,
  });
  const agent = async (confirmationMode: string, allowedEntityIds: string[]) =>
    key(admin, { agentId: await world.agent(leaf, admin, { allowedEntityIds, confirmationMode }) });
  return {
    'a member at a browser': { ...(await signIn(app, member)), 'x-org': leaf },
    'a member’s key': await key(member),
    'a key for two doors': await key(member, { scopedEntityIds: [e0, e1] }),
    'a reader’s key': await key(reader),
    'an administrator’s key': await key(admin),
    'an agent': await agent('policy', [e0, e1, e2]),
    'an agent that confirms': await agent('always', [e0, e1]),
    'an agent that asks people': await agent('human', [e1, e2]),
  };
}

/** Takes the place of those that were there, in one change. */
async function putPolicies(app: TestApp, names: Names, { policies, zones }: DecisionWorld): Promise<void> {
  const orgIds = ['root', 'mid', 'leaf'].map((name) => named(names, name));
  const rows = policies.map((policy) => rowOf(policy, names));
  await app.db.query(
    `with gone as (delete from policies where org_id = any ($1)), zoned as (
       update orgs set timezone = z.value from jsonb_each_text($3) z where orgs.id = z.key)
     insert into policies (org_id, id, scope, integration_id, device_id, policy_type, capability, config, enforcement, enabled)
     select org_id, id, scope, integration_id, device_id, policy_type, capability, config, enforcement, enabled
     from jsonb_populate_recordset(null::policies, $2)`,
    [orgIds, JSON.stringify(rows), JSON.stringify(zonesOf(zones, names))],
  );
}

const zonesOf = (zones: Readonly<Record<string, string>>, names: Names) =>
  Object.fromEntries(Object.entries(zones).map(([name, zone]) => [named(names, name), zone]));

/** Only the organization of the doors has policies for one of them; and a device belongs to its own integration. */
function rowOf(policy: StoredPolicy, names: Names): Record<string, unknown> {
  const scope = policy.orgId === 'leaf' ? policy.scope : 'org';
  const device = scope === 'device' ? policy.deviceId : null;
  const ownIntegration = device === 'd1' ? 'i1' : 'i0';
  const integration = device === null ? (policy.integrationId ?? 'i0') : ownIntegration;
  const config = JSON.stringify(policy.config).replace(/\\?"(mid|i1|e0|e1)\\?"/g, (text, name: string) =>
    text.replace(name, named(names, name)),
  );
  return {
    org_id: named(names, policy.orgId),
    id: ulid(),
    scope,
    integration_id: scope === 'org' ? null : named(names, integration),
    device_id: device === null ? null : named(names, device),
    policy_type: policy.policyType,
    capability: policy.capability,
    config: JSON.parse(config) as unknown,
    enforcement: policy.enforcement,
    enabled: policy.enabled,
  };
}

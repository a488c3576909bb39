// Generated organizations, policies, callers and doors. Few names, so that they meet often.
import type { OrgScope, RoleGrant } from '../../src/kernel/call.ts';
import type { AccessPlace, AccessPrincipal } from '../../src/policy/access-facts.ts';
import { indexPolicies, type StoredPolicy } from '../../src/policy/org-policies.ts';
import type { PolicySnapshot } from '../../src/policy/typed-rules.ts';
import type { CustomQuestion, ReferenceCase, ReferencePlace, ReferencePolicy } from './decision-reference.ts';

export type Random = (below: number) => number;

/** mulberry32: the same numbers for the same seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

const pick = <T>(random: Random, values: readonly T[]): T => values[random(values.length)] as T;
const some = <T>(random: Random, values: readonly T[]): T[] => values.filter(() => random(2) === 0);
const chance = (random: Random, oneIn: number): boolean => random(oneIn) === 0;

const orgIds = ['root', 'mid', 'leaf'] as const;
const zoneNames = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia'];
const classes = ['agent', 'api_key', 'invitation', 'member', 'resident', 'admin', 'all'];
const roles = ['admin', 'entities:set_state', 'entities:read', 'manager', 'resident', 'resident'];
const entityIds = ['e0', 'e1', 'e2'];
const deviceIds = ['d0', 'd1', 'd2'];
const dates = ['2026-03-28', '2026-03-29', '2026-10-25', '2026-06-01'];
/** Around changes of the clocks, and some other days. */
const moments = [
  '2026-03-28T22:00:00Z',
  '2026-10-24T22:00:00Z',
  '2026-06-01T00:00:00Z',
  '2026-04-04T12:00:00Z',
].map(Date.parse);

/** A custom policy in the words of Cedar, and the same as a function. */
interface CustomPolicy {
  readonly text: string;
  readonly holds: (question: CustomQuestion, asked: ReferenceCase) => boolean;
}

const customPolicies: readonly CustomPolicy[] = [
  { text: 'forbid (principal is Agent, action, resource);', holds: (_, { kind }) => kind === 'agent' },
  {
    text: 'forbid (principal, action == Action::"toggle", resource in Org::"mid");',
    holds: ({ action }, { path }) => action === 'toggle' && path.includes('mid'),
  },
  {
    text: 'forbid (principal, action == Action::"open", resource) when { resource == Entity::"e1" };',
    holds: ({ action, place }) => action === 'open' && place.entityId === 'e1',
  },
  {
    text: 'forbid (principal, action, resource in Integration::"i1") when { context.weekday == 0 || context.holiday };',
    holds: ({ place, weekday, holiday }) => place.integrationId === 'i1' && (weekday === 0 || holiday),
  },
  {
    text: 'forbid (principal is ApiKey, action, resource) unless { principal has scoped_entities && context.minute < 600 };',
    holds: ({ minute }, { kind, entities }) => kind === 'api_key' && !(entities !== null && minute < 600),
  },
  {
    text: 'forbid (principal, action in Action::"operate", resource) when { resource has output && resource.output like "2*" };',
    holds: ({ place }) => place.output?.startsWith('2') ?? false,
  },
  {
    // Addition has no closure: this one is asked of the wasm engine.
    text: 'forbid (principal, action, resource) when { context.minute + 1 > 1440 - 60 && resource == Entity::"e0" };',
    holds: ({ place, minute }) => minute >= 1380 && place.entityId === 'e0',
  },
];

export interface DecisionCase {
  readonly principal: AccessPrincipal;
  readonly org: OrgScope;
  readonly target: AccessPlace;
  readonly openers: readonly AccessPlace[];
  readonly verb: 'open' | 'close' | 'toggle';
  readonly nowMs: number;
  readonly reference: ReferenceCase;
}

export interface DecisionWorld {
  readonly org: OrgScope;
  readonly zones: Readonly<Record<string, string>>;
  readonly policies: readonly StoredPolicy[];
  next(): DecisionCase;
}

export function snapshotOf(
  path: readonly string[],
  zones: Readonly<Record<string, string>>,
  policies: readonly StoredPolicy[],
): PolicySnapshot {
  const ofOrg = (orgId: string) => policies.filter((policy) => policy.orgId === orgId);
  return { orgs: path.map((orgId) => indexPolicies(zones[orgId] ?? 'UTC', ofOrg(orgId))) };
}

export function generateWorld(random: Random): DecisionWorld {
  const path = orgIds.slice(0, 1 + random(3));
  const zones = Object.fromEntries(orgIds.map((id) => [id, pick(random, zoneNames)]));
  const chosen = new Map<string, CustomPolicy>();
  const hardware = new Map(deviceIds.map((id) => [id, pick(random, [null, 'h0', 'h0', 'h1'])]));
  const policies = Array.from({ length: random(9) }, (_, index) =>
    policyOf(random, `p${index}`, chosen, hardware),
  );
  const org = {
    id: path.at(-1) ?? 'root',
    path,
    epoch: 1,
    timezone: null,
    defaultLocale: 'en',
    deletedAt: null,
  };
  const places = entityIds.map((id, index) => placeOf(random, id, index, hardware));
  return { org, zones, policies, next: () => caseOf(random, { org, zones, policies, chosen, places }) };
}

type HardwareOf = ReadonlyMap<string, string | null>;

function policyOf(
  random: Random,
  id: string,
  chosen: Map<string, CustomPolicy>,
  hardware: HardwareOf,
): StoredPolicy {
  const scope = pick(random, ['org', 'org', 'integration', 'device'] as const);
  const policyType = pick(random, [
    'require_step_up',
    'quiet_hours',
    'quiet_hours',
    'cedar',
    'approval_threshold',
    'holiday_calendar',
    'invitation_curfew',
    'invitation_max_uses',
  ] as const);
  const custom = pick(random, customPolicies);
  chosen.set(id, custom);
  const deviceId = scope === 'device' ? pick(random, deviceIds) : null;
  return {
    id,
    orgId: pick(random, orgIds),
    scope,
    integrationId: scope === 'org' ? null : pick(random, ['i0', 'i1']),
    deviceId,
    hardwareId: deviceId === null ? null : (hardware.get(deviceId) ?? null),
    policyType,
    capability: pick(random, [null, null, 'switchable', 'users_admin']),
    config: { ...configOf(random, policyType, custom), ...selectorsOf(random, policyType) },
    enforcement: pick(random, ['enforce', 'enforce', 'require_approval', 'audit_only'] as const),
    enabled: !chance(random, 6),
  };
}

function selectorsOf(random: Random, policyType: string): Record<string, unknown> {
  return {
    ...(policyType !== 'approval_threshold' && chance(random, 2)
      ? { applies_to: some(random, classes).slice(0, 2) }
      : {}),
    ...(chance(random, 3) ? { output: pick(random, [null, 1, 2, '2', 'e1']) } : {}),
  };
}

function configOf(random: Random, type: string, { text }: CustomPolicy): Record<string, unknown> {
  const window = () => ({ start: timeOf(random), end: timeOf(random) });
  if (type === 'quiet_hours')
    return { ...window(), ...(chance(random, 3) ? { holiday_calendar: true } : {}) };
  if (type === 'invitation_curfew') return { windows: [window(), window()] };
  if (type === 'cedar') return { policy: text };
  if (type === 'approval_threshold') return { count: 1 + random(4) };
  if (type === 'holiday_calendar') return { dates: some(random, dates) };
  return type === 'invitation_max_uses' ? { max_uses: 1 } : {};
}

function timeOf(random: Random): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(random(24))}:${two(pick(random, [0, 0, 30, 59]))}`;
}

type Place = AccessPlace & { readonly output: string | null; readonly hardwareId: string | null };

function placeOf(random: Random, entityId: string, index: number, hardware: HardwareOf): Place {
  const [channel, suffix, gate] = [chance(random, 3), chance(random, 3), chance(random, 3)];
  return {
    entityId,
    entityType: 'door',
    externalId: null,
    metadata: channel ? { channel_index: '2' } : {},
    deviceId: `d${index}`,
    hardwareId: hardware.get(`d${index}`) ?? null,
    deviceExternalId: suffix ? 'gate:2' : null,
    integrationId: `i${index % 2}`,
    providerType: gate ? 'palgate_cloud' : 'virtual_demo',
    output: channel || suffix ? '2' : gate ? '1' : null,
  };
}

interface Generated {
  readonly org: OrgScope;
  readonly zones: Readonly<Record<string, string>>;
  readonly policies: readonly StoredPolicy[];
  readonly chosen: ReadonlyMap<string, CustomPolicy>;
  readonly places: readonly Place[];
}

function caseOf(random: Random, { org, zones, policies, chosen, places }: Generated): DecisionCase {
  const kind = pick(random, ['user', 'user', 'api_key', 'agent', 'guest'] as const);
  const grants = kind === 'guest' ? [] : grantsOf(random);
  const limited = kind === 'agent' || kind === 'guest' || (kind === 'api_key' && chance(random, 2));
  const first = pick(random, places);
  const openers = chance(random, 3) ? some(random, places) : [];
  const facts = {
    kind,
    grants,
    entities: limited ? (chance(random, 4) ? some(random, entityIds) : entityIds) : null,
    confirmationMode: kind === 'agent' ? pick(random, ['policy', 'always', 'human'] as const) : 'policy',
    curfewExempt: chance(random, 4),
  };
  const verb = pick(random, ['open', 'open', 'close', 'toggle'] as const);
  const nowMs = pick(random, moments) + random(48 * 60) * 60_000 + random(60_000);
  const reference: ReferenceCase = {
    ...facts,
    path: org.path,
    zones,
    target: referencePlace(first),
    openers: openers.map(referencePlace),
    verb,
    policies: policies as readonly ReferencePolicy[],
    nowMs,
    custom: (id, question) => chosen.get(id)?.holds(question, reference) ?? false,
  };
  return { principal: principalOf(facts, org), org, target: first, openers, verb, nowMs, reference };
}

function referencePlace({ entityId, deviceId, hardwareId, integrationId, output }: Place): ReferencePlace {
  return { entityId, deviceId, hardwareId, integrationId, output };
}

function grantsOf(random: Random): RoleGrant[] {
  return Array.from({ length: 1 + random(3) }, () => {
    const role = pick(random, roles);
    const building = `virtual_access:integration:${pick(random, ['i0', 'i1'])}:${role}`;
    const name = role === 'manager' || role === 'resident' ? building : role;
    return { orgId: pick(random, orgIds), role: name as RoleGrant['role'] };
  });
}

type CallerFacts = Pick<ReferenceCase, 'kind' | 'entities' | 'confirmationMode' | 'curfewExempt'> & {
  readonly grants: readonly RoleGrant[];
};

function principalOf(facts: CallerFacts, org: OrgScope): AccessPrincipal {
  const { kind, grants, entities, confirmationMode, curfewExempt } = facts;
  const own = { userId: 'u', grants, org, keyId: 'k', expiresAt: new Date(0) };
  if (kind === 'user') return { kind, userId: 'u', grants, sessionId: 's' };
  if (kind === 'api_key') return { ...own, kind, scopedEntityIds: entities };
  if (kind === 'guest') return { kind, guestId: 'g', inviteId: 'v', entityIds: entities ?? [], curfewExempt };
  return { ...own, kind, agentId: 'a', allowedEntityIds: entities ?? [], confirmationMode };
}

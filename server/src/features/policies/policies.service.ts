import type { CreatePolicyRequest, UpdatePolicyRequest } from '@lintel/contract/policies';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, principalOf, requireRole } from '../../kernel/call.ts';
import { ulid } from '../../kernel/ulid.ts';
import { requirePolicyInput } from '../../policy/policy-input.ts';
import type { Enforcement } from '../../policy/policy-kinds.ts';
import { isTimeZone } from '../../policy/zone-clock.ts';
import { type EffectiveRules, effectiveRules } from './effective.rules.ts';
import {
  claimDevice,
  findPhysicalDevice,
  lockPhysicalDevice,
  type PhysicalDevice,
} from './physical-devices.store.ts';
import {
  deletePolicy,
  insertPolicy,
  integrationExists,
  listInForce,
  listPolicies,
  lockPolicy,
  type PolicyPlace,
  type PolicyRecord,
  setTimezone,
  updatePolicy,
} from './policies.store.ts';

/** What the path names: the organization itself, an integration of it, or a device of that. */
export interface PlaceInPath {
  readonly integrationId?: string;
  readonly deviceId?: string;
}

export interface Effective {
  readonly timezone: string;
  readonly rules: EffectiveRules;
  readonly policies: readonly PolicyRecord[];
}

export interface PoliciesService {
  list(org: OrgScope, at: PlaceInPath): Promise<PolicyRecord[]>;
  create(call: Call, org: OrgScope, at: PlaceInPath, input: CreatePolicyRequest): Promise<PolicyRecord>;
  update(
    call: Call,
    org: OrgScope,
    at: PlaceInPath,
    id: string,
    input: UpdatePolicyRequest,
  ): Promise<PolicyRecord>;
  remove(call: Call, org: OrgScope, at: PlaceInPath, id: string): Promise<void>;
  effective(org: OrgScope, integrationId: string | null): Promise<Effective>;
  setTimezone(call: Call, org: OrgScope, timezone: string | null): Promise<string | null>;
}

export function createPoliciesService({ db }: { readonly db: Database }): PoliciesService {
  return {
    // The path too: a device may be one that an organization above has as well.
    list: (org, at) => db.inOrg(org.path, (tx) => list(tx, org, at)),
    create: (call, org, at, input) => db.inOrg(org.path, (tx) => create(tx, call, org, at, input)),
    update: (call, org, at, id, input) => db.inOrg(org.path, (tx) => update(tx, call, org, at, id, input)),
    remove: (call, org, at, id) => db.inOrg(org.path, (tx) => remove(tx, call, org, at, id)),
    effective: (org, integrationId) =>
      // The path too: what holds above holds here.
      db.inOrg(org.path, async (tx) => {
        if (integrationId !== null) await requirePlace(tx, org, { integrationId });
        const policies = await listInForce(tx, org.path, integrationId);
        return { timezone: org.timezone ?? 'UTC', rules: effectiveRules(policies), policies };
      }),
    setTimezone: (call, org, timezone) => db.inOrg(org.id, (tx) => changeTimezone(tx, call, org, timezone)),
  };
}

interface Place extends PolicyPlace {
  readonly physical: PhysicalDevice | null;
}

async function requirePlace(
  tx: Tx,
  org: OrgScope,
  { integrationId, deviceId }: PlaceInPath,
  find = findPhysicalDevice,
): Promise<Place> {
  const of = { orgId: org.id, integrationId: integrationId ?? null, deviceId: deviceId ?? null };
  if (integrationId === undefined) return { ...of, scope: 'org', deviceIds: [], physical: null };
  if (deviceId === undefined) {
    if (!(await integrationExists(tx, org.id, integrationId))) throw notFound();
    return { ...of, scope: 'integration', deviceIds: [], physical: null };
  }
  const physical = await find(tx, org, { integrationId, deviceId });
  if (physical === null) throw notFound();
  return { ...of, scope: 'device', deviceIds: physical.deviceIds, physical };
}

/** Policies of a device belong to its steward. Whoever sets the first one becomes it. */
async function requireSteward(
  tx: Tx,
  call: Call,
  org: OrgScope,
  at: PlaceInPath,
  claim: boolean,
): Promise<Place> {
  const principal = principalOf(call);
  const place = await requirePlace(tx, org, at, lockPhysicalDevice);
  requireRole(principal, org, 'policies:manage');
  if (place.physical === null || place.deviceId === null) return place;
  const { steward } = place.physical;
  if (steward === null && claim) await claimDevice(tx, org.id, place.deviceId, principal.userId);
  else if (steward !== null && steward.userId !== principal.userId)
    throw new AppError('forbidden', 'the policies of this device belong to its steward');
  return place;
}

/** Whichever device it was set for, it is one of the physical device. */
function shown(policy: PolicyRecord, { physical }: Place): PolicyRecord {
  return physical === null ? policy : { ...policy, deviceId: physical.id };
}

async function list(tx: Tx, org: OrgScope, at: PlaceInPath): Promise<PolicyRecord[]> {
  const place = await requirePlace(tx, org, at);
  return (await listPolicies(tx, place)).map((policy) => shown(policy, place));
}

async function create(
  tx: Tx,
  call: Call,
  org: OrgScope,
  at: PlaceInPath,
  input: CreatePolicyRequest,
): Promise<PolicyRecord> {
  const place = await requireSteward(tx, call, org, at, true);
  const enforcement: Enforcement = input.enforcement ?? 'enforce';
  const capability = input.capability ?? null;
  const { config } = input;
  const policyType = requirePolicyInput({
    scope: place.scope,
    policyType: input.policy_type,
    config,
    enforcement,
    capability,
  });
  const policy = await insertPolicy(tx, {
    ...place,
    id: ulid(),
    policyType,
    capability,
    config,
    enforcement,
    enabled: input.enabled ?? true,
    createdBy: principalOf(call).userId,
  });
  await record(tx, call, 'policy.created', policy);
  return shown(policy, place);
}

async function update(
  tx: Tx,
  call: Call,
  org: OrgScope,
  at: PlaceInPath,
  id: string,
  input: UpdatePolicyRequest,
): Promise<PolicyRecord> {
  const place = await requireSteward(tx, call, org, at, false);
  const known = await lockPolicy(tx, place, id);
  if (known === null) throw notFound();
  const changed = {
    ...known,
    config: input.config ?? known.config,
    capability: input.capability === undefined ? known.capability : input.capability,
    enforcement: input.enforcement ?? known.enforcement,
    enabled: input.enabled ?? known.enabled,
  };
  requirePolicyInput(changed);
  const policy = await updatePolicy(tx, changed);
  await record(tx, call, 'policy.updated', policy);
  return shown(policy, place);
}

async function remove(tx: Tx, call: Call, org: OrgScope, at: PlaceInPath, id: string): Promise<void> {
  const place = await requireSteward(tx, call, org, at, false);
  const known = await lockPolicy(tx, place, id);
  if (known === null) throw notFound();
  await deletePolicy(tx, org.id, id);
  await record(tx, call, 'policy.deleted', known);
}

async function record(
  tx: Tx,
  call: Call,
  type: 'policy.created' | 'policy.updated' | 'policy.deleted',
  policy: PolicyRecord,
): Promise<void> {
  await recordEvent(tx, originOf(call), {
    orgId: policy.orgId,
    type,
    resource: { type: 'policy', id: policy.id },
    details: {
      resource_name: policy.policyType,
      policy_type: policy.policyType,
      scope: policy.scope,
      integration_id: policy.integrationId,
      device_id: policy.deviceId,
      capability: policy.capability,
      config: policy.config,
      enforcement: policy.enforcement,
      enabled: policy.enabled,
    },
  });
}

async function changeTimezone(
  tx: Tx,
  call: Call,
  org: OrgScope,
  asked: string | null,
): Promise<string | null> {
  const timezone = asked === null || asked.trim() === '' ? null : asked.trim();
  if (timezone !== null && !isTimeZone(timezone)) throw invalid('/timezone', 'is not an IANA time zone');
  await setTimezone(tx, org.id, timezone);
  await recordEvent(tx, originOf(call), {
    orgId: org.id,
    type: 'org.updated',
    resource: { type: 'org', id: org.id },
    details: { timezone },
  });
  return timezone;
}

import { type Static, Type } from 'typebox';
import {
  Closed,
  IdParams,
  Nullable,
  OptionalNullable,
  OrgIdParams,
  PathId,
  Response,
  Timestamp,
  Ulid,
} from './common.ts';
import { defineOperation } from './operation.ts';

const Enforcement = Type.Unsafe<'enforce' | 'require_approval' | 'audit_only'>({
  type: 'string',
  enum: ['enforce', 'require_approval', 'audit_only'],
  description: 'enforce; ask a different person; or only say in the audit log what it would have done',
});
const PolicyType = Type.String({ minLength: 1, maxLength: 64, description: 'A kind: see the policies page' });
const Config = Type.Record(Type.String(), Type.Unknown(), { description: 'Its members belong to the kind' });
const Capability = OptionalNullable(
  Type.String({ minLength: 1, maxLength: 64, description: 'Only for this capability, such as switchable' }),
);

export const Policy = Response('PolicyResponse', {
  id: Ulid,
  scope: Type.Unsafe<'org' | 'integration' | 'device'>({
    type: 'string',
    enum: ['org', 'integration', 'device'],
  }),
  org_id: Ulid,
  integration_id: Nullable(Ulid),
  physical_device_id: Nullable(Ulid),
  policy_type: Type.String(),
  capability: Nullable(Type.String()),
  config: Config,
  enforcement: Enforcement,
  enabled: Type.Boolean(),
  created_by: Nullable(Type.String()),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Policy = Static<typeof Policy>;

export const CreatePolicyRequest = Closed('CreatePolicyRequest', {
  policy_type: PolicyType,
  config: Config,
  capability: Capability,
  enabled: OptionalNullable(Type.Boolean()),
  enforcement: OptionalNullable(Enforcement),
});
export type CreatePolicyRequest = Static<typeof CreatePolicyRequest>;

export const UpdatePolicyRequest = Closed('UpdatePolicyRequest', {
  config: Type.Optional(Config),
  capability: Capability,
  enabled: OptionalNullable(Type.Boolean()),
  enforcement: OptionalNullable(Enforcement),
});
export type UpdatePolicyRequest = Static<typeof UpdatePolicyRequest>;

const Texts = Nullable(Type.Array(Type.String()));
const Count = Nullable(Type.Integer({ minimum: 0 }));

export const EffectivePolicies = Response('EffectivePoliciesResponse', {
  timezone: Type.String({ description: 'IANA zone of the organization; UTC when unset' }),
  curfew_windows: Type.Array(Response('CurfewWindowResponse', { start: Type.String(), end: Type.String() })),
  user_sharing_mode: Type.Unsafe<'none' | 'admin_only' | 'approval_required' | 'all'>({
    type: 'string',
    enum: ['none', 'admin_only', 'approval_required', 'all'],
  }),
  allowed_creator_roles: Texts,
  allowed_entry_kinds: Texts,
  allowed_weekdays: Nullable(Type.Array(Type.Integer())),
  blackout_dates: Texts,
  prohibited_master_door_ids: Texts,
  max_active_per_user: Count,
  max_doors: Count,
  max_duration_seconds: Count,
  max_uses: Count,
  share_default_max_uses: Count,
  share_max_duration_seconds: Type.Integer({
    minimum: 0,
    description: '86,400 unless a policy says otherwise',
  }),
  share_max_uses: Count,
  no_reshare: Type.Boolean(),
  no_transitive_delegation: Type.Boolean(),
  require_expiry: Type.Boolean(),
  require_justification: Type.Boolean(),
  require_photo: Type.Boolean(),
  require_pin: Type.Boolean(),
  require_verified_phone: Type.Boolean(),
  restrict_to_own_listing_doors: Type.Boolean(),
  share_allow_unlimited: Type.Boolean(),
  policies: Type.Array(Policy, { description: 'All that hold here, those of organizations above included' }),
});
export type EffectivePolicies = Static<typeof EffectivePolicies>;

export const OrgTimezone = Response('OrgTimezoneResponse', { timezone: Nullable(Type.String()) });
export const SetOrgTimezoneRequest = Closed('SetOrgTimezoneRequest', {
  timezone: OptionalNullable(
    Type.String({ maxLength: 64, description: 'IANA zone; empty or null clears it' }),
  ),
});

export const PhysicalDevice = Response('DevicePhysicalStatusResponse', {
  physical_device_id: Ulid,
  hardware_id: Nullable(Type.String()),
  provider_supports_steward: Type.Boolean(),
  admin_status: Nullable(
    Type.String({ description: 'admin, non_admin, or null where nothing was verified' }),
  ),
  is_primary_instance: Type.Boolean(),
  has_steward: Type.Boolean(),
  is_steward: Type.Boolean(),
  can_claim: Type.Boolean(),
});
export type PhysicalDevice = Static<typeof PhysicalDevice>;

const OrgPolicyParams = Type.Object({ org_id: PathId, id: PathId });
const IntegrationPolicyParams = Type.Object({ id: PathId, policy_id: PathId });
const DeviceParams = Type.Object({ id: PathId, device_id: PathId });
const DevicePolicyParams = Type.Object({ id: PathId, device_id: PathId, policy_id: PathId });

const base = { tag: 'Policies', auth: 'principal', agents: false, role: 'policies:manage' } as const;
const inOrg = { ...base, org: 'path', orgParam: 'org_id' } as const;
const inIntegration = { ...base, org: 'principal' } as const;
const ofDevice = { rule: 'policies:manage, and nobody else is steward of the device' } as const;

const list = { method: 'GET', responses: { 200: Type.Array(Policy) }, errors: [], audit: null } as const;
const create = {
  method: 'POST',
  body: CreatePolicyRequest,
  responses: { 201: Policy },
  errors: [],
  audit: 'policy.created',
} as const;
const update = {
  method: 'PATCH',
  body: UpdatePolicyRequest,
  responses: { 200: Policy },
  errors: [],
  audit: 'policy.updated',
} as const;
const remove = { method: 'DELETE', responses: { 204: null }, errors: [], audit: 'policy.deleted' } as const;

export const policyOperations = [
  defineOperation({
    ...inOrg,
    ...list,
    id: 'list_org_policies',
    path: '/orgs/{org_id}/policies',
    summary: 'List the policies of an organization; they also hold below it',
    params: OrgIdParams,
  }),
  defineOperation({
    ...inOrg,
    ...create,
    id: 'create_org_policy',
    path: '/orgs/{org_id}/policies',
    summary: 'Set a policy for an organization and everything below it',
    description: 'Policies only narrow what roles allow. Of several the most restrictive counts.',
    params: OrgIdParams,
  }),
  defineOperation({
    ...inOrg,
    ...update,
    id: 'update_org_policy',
    path: '/orgs/{org_id}/policies/{id}',
    summary: 'Change a policy of an organization',
    params: OrgPolicyParams,
  }),
  defineOperation({
    ...inOrg,
    ...remove,
    id: 'delete_org_policy',
    path: '/orgs/{org_id}/policies/{id}',
    summary: 'Remove a policy of an organization',
    params: OrgPolicyParams,
  }),
  defineOperation({
    ...inIntegration,
    ...list,
    id: 'list_integration_policies',
    path: '/integrations/{id}/policies',
    summary: 'List the policies of an integration',
    params: IdParams,
  }),
  defineOperation({
    ...inIntegration,
    ...create,
    id: 'create_integration_policy',
    path: '/integrations/{id}/policies',
    summary: 'Set a policy for an integration',
    params: IdParams,
  }),
  defineOperation({
    ...inIntegration,
    ...update,
    id: 'update_integration_policy',
    path: '/integrations/{id}/policies/{policy_id}',
    summary: 'Change a policy of an integration',
    params: IntegrationPolicyParams,
  }),
  defineOperation({
    ...inIntegration,
    ...remove,
    id: 'delete_integration_policy',
    path: '/integrations/{id}/policies/{policy_id}',
    summary: 'Remove a policy of an integration',
    params: IntegrationPolicyParams,
  }),
  defineOperation({
    ...inIntegration,
    ...list,
    id: 'list_device_policies',
    path: '/integrations/{id}/devices/{device_id}/policies',
    summary: 'List the policies of a device',
    params: DeviceParams,
  }),
  defineOperation({
    ...inIntegration,
    ...create,
    id: 'create_device_policy',
    path: '/integrations/{id}/devices/{device_id}/policies',
    summary: 'Set a policy for a device; who does so first becomes its steward',
    role: ofDevice,
    params: DeviceParams,
  }),
  defineOperation({
    ...inIntegration,
    ...update,
    id: 'update_device_policy',
    path: '/integrations/{id}/devices/{device_id}/policies/{policy_id}',
    summary: 'Change a policy of a device',
    role: ofDevice,
    params: DevicePolicyParams,
  }),
  defineOperation({
    ...inIntegration,
    ...remove,
    id: 'delete_device_policy',
    path: '/integrations/{id}/devices/{device_id}/policies/{policy_id}',
    summary: 'Remove a policy of a device',
    role: ofDevice,
    params: DevicePolicyParams,
  }),
  defineOperation({
    ...inIntegration,
    id: 'get_device_physical_status',
    method: 'GET',
    path: '/integrations/{id}/devices/{device_id}/physical-device',
    summary: 'Who may set the policies of a device',
    params: DeviceParams,
    responses: { 200: PhysicalDevice },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...inIntegration,
    id: 'release_steward',
    method: 'POST',
    path: '/integrations/{id}/devices/{device_id}/steward/release',
    summary: 'Give up the stewardship of a device; an administrator may end another’s',
    role: { rule: 'the steward of the device, or an administrator' },
    params: DeviceParams,
    responses: { 204: null },
    errors: [],
    audit: 'device.steward_released',
  }),
  defineOperation({
    ...inOrg,
    id: 'get_org_effective_policies',
    method: 'GET',
    path: '/orgs/{org_id}/effective-policies',
    summary: 'What all policies together say',
    role: 'member',
    params: OrgIdParams,
    query: Type.Object({ integration_id: Type.Optional(PathId) }),
    responses: { 200: EffectivePolicies },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...inIntegration,
    id: 'get_integration_effective_policies',
    method: 'GET',
    path: '/integrations/{id}/effective-policies',
    summary: 'What all policies together say in an integration',
    role: 'member',
    params: IdParams,
    responses: { 200: EffectivePolicies },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...inOrg,
    id: 'get_org_timezone',
    method: 'GET',
    path: '/orgs/{org_id}/timezone',
    summary: 'The time zone that times of day are meant in',
    role: 'member',
    params: OrgIdParams,
    responses: { 200: OrgTimezone },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...inOrg,
    id: 'set_org_timezone',
    method: 'PATCH',
    path: '/orgs/{org_id}/timezone',
    summary: 'Set the time zone that times of day are meant in',
    role: 'orgs:update',
    params: OrgIdParams,
    body: SetOrgTimezoneRequest,
    responses: { 200: OrgTimezone },
    errors: [],
    audit: 'org.updated',
  }),
] as const;

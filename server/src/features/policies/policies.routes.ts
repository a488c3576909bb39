import type { EffectivePolicies, PhysicalDevice as PhysicalStatus, Policy } from '@lintel/contract/policies';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { PhysicalDevice } from './physical-devices.store.ts';
import type { Effective, PoliciesService } from './policies.service.ts';
import type { PolicyRecord } from './policies.store.ts';
import type { StewardsService } from './stewards.service.ts';

type OrgIds =
  | 'list_org_policies'
  | 'create_org_policy'
  | 'update_org_policy'
  | 'delete_org_policy'
  | 'get_org_effective_policies'
  | 'get_org_timezone'
  | 'set_org_timezone';

type IntegrationIds =
  | 'list_integration_policies'
  | 'create_integration_policy'
  | 'update_integration_policy'
  | 'delete_integration_policy'
  | 'get_integration_effective_policies';

type DeviceIds =
  | 'list_device_policies'
  | 'create_device_policy'
  | 'update_device_policy'
  | 'delete_device_policy'
  | 'get_device_physical_status'
  | 'release_steward';

export function policyRoutes(
  policies: PoliciesService,
  stewards: StewardsService,
): HandlersOf<OrgIds | IntegrationIds | DeviceIds> {
  return {
    ...orgRoutes(policies),
    ...integrationRoutes(policies),
    ...devicePolicyRoutes(policies),
    ...stewardRoutes(stewards),
  };
}

function orgRoutes(policies: PoliciesService): HandlersOf<OrgIds> {
  return {
    list_org_policies: async ({ org }) => (await policies.list(org, {})).map(toRecord),
    create_org_policy: async ({ call, org, body }) => toRecord(await policies.create(call, org, {}, body)),
    update_org_policy: async ({ call, org, params, body }) =>
      toRecord(await policies.update(call, org, {}, params.id, body)),
    delete_org_policy: async ({ call, org, params }) => {
      await policies.remove(call, org, {}, params.id);
    },
    get_org_effective_policies: async ({ org, query }) =>
      toEffective(await policies.effective(org, query.integration_id ?? null)),
    get_org_timezone: async ({ org }) => ({ timezone: org.timezone }),
    set_org_timezone: async ({ call, org, body }) => ({
      timezone: await policies.setTimezone(call, org, body.timezone ?? null),
    }),
  };
}

function integrationRoutes(policies: PoliciesService): HandlersOf<IntegrationIds> {
  const at = ({ id }: { id: string }) => ({ integrationId: id });
  return {
    list_integration_policies: async ({ org, params }) =>
      (await policies.list(org, at(params))).map(toRecord),
    create_integration_policy: async ({ call, org, params, body }) =>
      toRecord(await policies.create(call, org, at(params), body)),
    update_integration_policy: async ({ call, org, params, body }) =>
      toRecord(await policies.update(call, org, at(params), params.policy_id, body)),
    delete_integration_policy: async ({ call, org, params }) => {
      await policies.remove(call, org, at(params), params.policy_id);
    },
    get_integration_effective_policies: async ({ org, params }) =>
      toEffective(await policies.effective(org, params.id)),
  };
}

function devicePolicyRoutes(
  policies: PoliciesService,
): HandlersOf<Exclude<DeviceIds, 'get_device_physical_status' | 'release_steward'>> {
  const at = placeOf;
  return {
    list_device_policies: async ({ org, params }) => (await policies.list(org, at(params))).map(toRecord),
    create_device_policy: async ({ call, org, params, body }) =>
      toRecord(await policies.create(call, org, at(params), body)),
    update_device_policy: async ({ call, org, params, body }) =>
      toRecord(await policies.update(call, org, at(params), params.policy_id, body)),
    delete_device_policy: async ({ call, org, params }) => {
      await policies.remove(call, org, at(params), params.policy_id);
    },
  };
}

function stewardRoutes(
  stewards: StewardsService,
): HandlersOf<'get_device_physical_status' | 'release_steward'> {
  return {
    get_device_physical_status: async ({ org, params, principal }) =>
      toStatus(await stewards.status(org, placeOf(params)), params.device_id, principal?.userId ?? null),
    release_steward: async ({ call, org, params }) => {
      await stewards.release(call, org, placeOf(params));
    },
  };
}

const placeOf = ({ id, device_id }: { id: string; device_id: string }) => ({
  integrationId: id,
  deviceId: device_id,
});

function toStatus(device: PhysicalDevice, deviceId: string, userId: string | null): PhysicalStatus {
  const { steward, hardwareId } = device;
  return {
    physical_device_id: device.id,
    // Without its maker.
    hardware_id: hardwareId === null ? null : hardwareId.slice(hardwareId.indexOf(':') + 1),
    // Every device can have one, and its policies need one.
    provider_supports_steward: true,
    admin_status: null,
    is_primary_instance: device.id === deviceId,
    has_steward: steward !== null,
    is_steward: steward !== null && steward.userId === userId,
    can_claim: steward === null,
  };
}

function toEffective({ timezone, rules, policies }: Effective): EffectivePolicies {
  return { timezone, ...rules, policies: policies.map(toRecord) };
}

function toRecord(policy: PolicyRecord): Policy {
  return {
    id: policy.id,
    scope: policy.scope,
    org_id: policy.orgId,
    integration_id: policy.integrationId,
    physical_device_id: policy.deviceId,
    policy_type: policy.policyType,
    capability: policy.capability,
    config: { ...policy.config },
    enforcement: policy.enforcement,
    enabled: policy.enabled,
    created_by: policy.createdBy,
    created_at: toRfc3339(policy.createdAt),
    updated_at: toRfc3339(policy.updatedAt),
  };
}

// Valid requests for policies, what they say together, and votes.
import { randomBytes } from 'node:crypto';
import type { OperationId } from '@lintel/contract/operations';
import { ulid } from '../../src/kernel/ulid.ts';
import type { Prepared, Recipe, Stage } from './scenario.ts';
import { createBuilding } from './scenario-world.ts';

const newPolicy = { policy_type: 'quiet_hours', config: { start: '01:00', end: '01:01' }, enabled: false };
const changes = { config: { start: '02:00', end: '02:01' }, enforcement: 'audit_only', capability: null };

interface Place {
  readonly integrationId?: string;
  readonly deviceId?: string;
}

async function insertPolicy({ app, tenant }: Stage, { integrationId, deviceId }: Place): Promise<string> {
  const id = ulid();
  const scope = deviceId !== undefined ? 'device' : integrationId !== undefined ? 'integration' : 'org';
  await app.db.query(
    `insert into policies (org_id, id, scope, integration_id, device_id, policy_type, config, enabled)
     values ($1, $2, $3, $4, $5, 'quiet_hours', '{"start": "01:00", "end": "01:01"}', false)`,
    [tenant.orgId, id, scope, integrationId ?? null, deviceId ?? null],
  );
  return id;
}

const inOrg = async ({ tenant }: Stage): Promise<Prepared> => ({ params: { org_id: tenant.orgId } });
const inIntegration = async ({ tenant }: Stage): Promise<Prepared> => ({
  params: { id: tenant.building.integrationId },
});

async function onOrgPolicy(stage: Stage): Promise<Prepared> {
  return { params: { org_id: stage.tenant.orgId, id: await insertPolicy(stage, {}) } };
}

async function onIntegrationPolicy(stage: Stage): Promise<Prepared> {
  const { integrationId } = stage.tenant.building;
  return { params: { id: integrationId, policy_id: await insertPolicy(stage, { integrationId }) } };
}

/** One of its own, so that nobody is its steward yet. */
async function onDevice({ app, tenant }: Stage): Promise<{ integrationId: string; deviceId: string }> {
  const { integrationId, deviceId } = await createBuilding(app, tenant.orgId, tenant.marker);
  return { integrationId, deviceId };
}

async function deviceParams(stage: Stage): Promise<Prepared> {
  const { integrationId, deviceId } = await onDevice(stage);
  return { params: { id: integrationId, device_id: deviceId } };
}

async function ofAnotherSteward(stage: Stage): Promise<Prepared> {
  const { integrationId, deviceId } = await onDevice(stage);
  await stage.app.db.query('insert into device_stewards (org_id, device_id, user_id) values ($1, $2, $3)', [
    stage.tenant.orgId,
    deviceId,
    await stage.app.world.user({ name: stage.tenant.marker }),
  ]);
  return { params: { id: integrationId, device_id: deviceId } };
}

async function onDevicePolicy(stage: Stage): Promise<Prepared> {
  const place = await onDevice(stage);
  const policyId = await insertPolicy(stage, place);
  return { params: { id: place.integrationId, device_id: place.deviceId, policy_id: policyId } };
}

/** Asked for by somebody whom nobody is. */
async function pendingApproval({ app, tenant }: Stage): Promise<Prepared> {
  const id = ulid();
  await app.db.query(
    `insert into policy_approvals (org_id, id, policy_id, policy_type, requester_kind, requester_id,
       requester_user_id, subject_kind, subject_ref, subject_label, fingerprint, expires_at)
     values ($1, $2, $3, 'cedar', 'user', $4, $4, 'entity_action', $5, $6, $7, now() + interval '1 hour')`,
    [tenant.orgId, id, ulid(), ulid(), tenant.building.entityId, tenant.marker, randomBytes(32)],
  );
  return { params: { org_id: tenant.orgId, id } };
}

const withBody =
  (prepare: (stage: Stage) => Promise<Prepared>, body: unknown) =>
  async (stage: Stage): Promise<Prepared> => ({ ...(await prepare(stage)), body });
const byManagers = ['policies:manage'] as const;

export const policyScenarios = {
  list_org_policies: { prepare: inOrg },
  create_org_policy: { prepare: withBody(inOrg, newPolicy) },
  update_org_policy: { prepare: withBody(onOrgPolicy, changes) },
  delete_org_policy: { prepare: onOrgPolicy },
  list_integration_policies: { prepare: inIntegration },
  create_integration_policy: { prepare: withBody(inIntegration, newPolicy) },
  update_integration_policy: { prepare: withBody(onIntegrationPolicy, changes) },
  delete_integration_policy: { prepare: onIntegrationPolicy },
  list_device_policies: { prepare: deviceParams },
  create_device_policy: { prepare: withBody(deviceParams, newPolicy), needs: byManagers },
  update_device_policy: { prepare: withBody(onDevicePolicy, changes), needs: byManagers },
  delete_device_policy: { prepare: onDevicePolicy, needs: byManagers },
  get_device_physical_status: { prepare: deviceParams },
  release_steward: { prepare: ofAnotherSteward, needs: ['admin'] },
  get_org_effective_policies: {
    prepare: async (stage) => ({
      ...(await inOrg(stage)),
      query: { integration_id: stage.tenant.building.integrationId },
      refs: { integration: stage.tenant.building.integrationId },
    }),
  },
  get_integration_effective_policies: { prepare: inIntegration },
  get_policies_what_if: {
    prepare: async ({ tenant }) => ({
      params: { org_id: tenant.orgId },
      query: { entity_id: tenant.building.entityId, draft: JSON.stringify(newPolicy) },
      refs: { entity: tenant.building.entityId },
    }),
  },
  get_org_timezone: { prepare: inOrg },
  set_org_timezone: { prepare: withBody(inOrg, { timezone: 'Europe/Berlin' }) },
  list_policy_approvals: { prepare: inOrg },
  approve_policy_approval: { prepare: pendingApproval },
  deny_policy_approval: { prepare: pendingApproval },
} satisfies Partial<Record<OperationId, Recipe>>;

import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { Hold, Lockdown } from './hold-rules.ts';
import type { StoredPolicy } from './org-policies.ts';

export interface PolicyVersion {
  readonly orgId: string;
  readonly timezone: string | null;
  readonly version: number;
}

/** From the root down, as the path is. */
export async function listPolicyVersions(tx: Tx, path: readonly string[]): Promise<PolicyVersion[]> {
  return await tx.query<PolicyVersion>(sql`
    select o.id as "orgId", o.timezone, coalesce(v.version, 0) as version
    from orgs o left join policy_versions v on v.org_id = o.id
    where o.id = any (${path}) order by cardinality(o.path)`);
}

export async function listEnabledPolicies(tx: Tx, orgId: string): Promise<StoredPolicy[]> {
  return await tx.query<StoredPolicy>(sql`
    select p.id, p.org_id as "orgId", p.scope, p.integration_id as "integrationId", p.device_id as "deviceId",
      d.hardware_id as "hardwareId", p.policy_type as "policyType", p.capability, p.config, p.enforcement, p.enabled
    from policies p left join devices d on d.org_id = p.org_id and d.id = p.device_id
    where p.org_id = ${orgId} and p.enabled order by p.id`);
}

export async function listHolds(tx: Tx, orgId: string): Promise<Hold[]> {
  return await tx.query<Hold>(sql`
    select h.id, h.org_id as "orgId", h.device_id as "deviceId", d.hardware_id as "hardwareId",
      h.entity_id as "entityId", h.mode, h.kind, h.until, h.recurrence, h.reason, h.include_lights as "includeLights"
    from door_holds h join devices d on d.org_id = h.org_id and d.id = h.device_id
    where h.org_id = ${orgId} order by h.id`);
}

export async function findLockdown(tx: Tx, orgId: string): Promise<Lockdown | null> {
  return await tx.maybeOne<Lockdown>(sql`
    select id, org_id as "orgId", reason, until from org_lockdowns where org_id = ${orgId}`);
}

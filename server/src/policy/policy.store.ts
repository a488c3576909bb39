import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
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
    select id, org_id as "orgId", scope, integration_id as "integrationId", device_id as "deviceId",
      policy_type as "policyType", capability, config, enforcement, enabled
    from policies where org_id = ${orgId} and enabled order by id`);
}

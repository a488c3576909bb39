import type { Tx } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { StoredPolicy } from '../../policy/org-policies.ts';
import type { PolicyScope } from '../../policy/policy-kinds.ts';

/** Where a policy is set. */
export interface PolicyPlace {
  readonly orgId: string;
  readonly scope: PolicyScope;
  readonly integrationId: string | null;
  readonly deviceId: string | null;
  /** All devices that are the same one as this; empty where it is not about a device. */
  readonly deviceIds: readonly string[];
}

export interface PolicyRecord extends StoredPolicy {
  readonly createdBy: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const columns = sql`
  p.id, p.org_id as "orgId", p.scope, p.integration_id as "integrationId", p.device_id as "deviceId",
  p.policy_type as "policyType", p.capability, p.config, p.enforcement, p.enabled, p.created_by as "createdBy",
  p.created_at as "createdAt", p.updated_at as "updatedAt"`;

const atPlace = ({ orgId, scope, integrationId, deviceIds }: PolicyPlace) => sql`
  p.org_id = ${orgId} and p.scope = ${scope} and ${
    scope === 'device'
      ? sql`p.device_id = any (${deviceIds}::text[])`
      : sql`p.integration_id is not distinct from ${integrationId}`
  }`;

export function listPolicies(tx: Tx, place: PolicyPlace): Promise<PolicyRecord[]> {
  return tx.query(sql`select ${columns} from policies p where ${atPlace(place)} order by p.id`);
}

export function lockPolicy(tx: Tx, place: PolicyPlace, id: string): Promise<PolicyRecord | null> {
  return tx.maybeOne(sql`
    select ${columns} from policies p where ${atPlace(place)} and p.id = ${id} for update`);
}

/** Of the organizations of a path, org-wide, and of one integration of the last of them. */
export function listInForce(
  tx: Tx,
  path: readonly string[],
  integrationId: string | null,
): Promise<PolicyRecord[]> {
  return tx.query(sql`
    select ${columns} from policies p
    where p.enabled and (
      (p.scope = 'org' and p.org_id = any (${path}))
      or (p.org_id = ${path.at(-1)} and p.scope = 'integration' and p.integration_id = ${integrationId}))
    order by p.scope desc, p.id`);
}

export type NewPolicy = StoredPolicy & { readonly createdBy: string };

export async function insertPolicy(tx: Tx, policy: NewPolicy): Promise<PolicyRecord> {
  return await tx.one<PolicyRecord>(sql`
    insert into policies as p (org_id, id, scope, integration_id, device_id, policy_type, capability, config,
      enforcement, enabled, created_by)
    values (${policy.orgId}, ${policy.id}, ${policy.scope}, ${policy.integrationId}, ${policy.deviceId},
      ${policy.policyType}, ${policy.capability}, ${JSON.stringify(policy.config)}, ${policy.enforcement},
      ${policy.enabled}, ${policy.createdBy})
    returning ${columns}`);
}

export async function updatePolicy(tx: Tx, policy: StoredPolicy): Promise<PolicyRecord> {
  return await tx.one<PolicyRecord>(sql`
    update policies p set capability = ${policy.capability}, config = ${JSON.stringify(policy.config)},
      enforcement = ${policy.enforcement}, enabled = ${policy.enabled}, updated_at = now()
    where p.org_id = ${policy.orgId} and p.id = ${policy.id} returning ${columns}`);
}

export function deletePolicy(tx: Tx, orgId: string, id: string): Promise<number> {
  return tx.execute(sql`delete from policies where org_id = ${orgId} and id = ${id}`);
}

export async function integrationExists(tx: Tx, orgId: string, id: string): Promise<boolean> {
  const row = await tx.maybeOne(sql`
    select from integrations where org_id = ${orgId} and id = ${id} and deleted_at is null for share`);
  return row !== null;
}

export async function setTimezone(tx: Tx, orgId: string, timezone: string | null): Promise<void> {
  await tx.execute(sql`update orgs set timezone = ${timezone}, updated_at = now() where id = ${orgId}`);
}

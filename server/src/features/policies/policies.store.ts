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

const atPlace = ({ orgId, scope, integrationId, deviceId }: PolicyPlace) => sql`
  p.org_id = ${orgId} and p.scope = ${scope} and p.integration_id is not distinct from ${integrationId}
  and p.device_id is not distinct from ${deviceId}`;

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

export interface StewardedDevice {
  readonly id: string;
  readonly externalId: string | null;
  readonly stewardUserId: string | null;
}

/** Locked, so that of two who would become steward one comes first. */
export function lockDevice(
  tx: Tx,
  place: { orgId: string; integrationId: string; deviceId: string },
): Promise<StewardedDevice | null> {
  return tx.maybeOne(sql`
    select d.id, d.external_id as "externalId", s.user_id as "stewardUserId"
    from devices d join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    left join device_stewards s on s.org_id = d.org_id and s.device_id = d.id
    where d.org_id = ${place.orgId} and d.id = ${place.deviceId} and d.integration_id = ${place.integrationId}
      and d.deleted_at is null and i.deleted_at is null
    for no key update of d`);
}

export async function claimDevice(tx: Tx, orgId: string, deviceId: string, userId: string): Promise<void> {
  await tx.execute(sql`
    insert into device_stewards (org_id, device_id, user_id) values (${orgId}, ${deviceId}, ${userId})`);
}

export async function releaseDevice(tx: Tx, orgId: string, deviceId: string): Promise<void> {
  await tx.execute(sql`delete from device_stewards where org_id = ${orgId} and device_id = ${deviceId}`);
}

export async function setTimezone(tx: Tx, orgId: string, timezone: string | null): Promise<void> {
  await tx.execute(sql`update orgs set timezone = ${timezone}, updated_at = now() where id = ${orgId}`);
}

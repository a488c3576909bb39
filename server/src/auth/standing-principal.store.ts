import type { Role } from '@lintel/contract/roles';
import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { OrgScope, Principal, RoleGrant } from '../kernel/call.ts';
import { scopedRoles } from './principal.rules.ts';
import { findOrgScope } from './principal.store.ts';

/** Who set something going that the service carries out later. */
export interface Setter {
  readonly userId: string;
  /** The key they came with. */
  readonly keyId: string | null;
}

/**
 * The same principal with what they may do by now; null when the person is gone, or the key revoked or expired. The
 * transaction must see the whole path of the organization: rights may come from above.
 */
export async function findStandingPrincipal(
  tx: Tx,
  org: OrgScope,
  { userId, keyId }: Setter,
): Promise<Principal | null> {
  const grants = await findGrants(tx, org, userId);
  if (grants === null || keyId === null) return grants && { kind: 'user', userId, sessionId: '', grants };
  const key = await findKey(tx, userId, keyId);
  const home = key && (await findOrgScope(tx, key.orgId));
  if (key === null || home === null || home.deletedAt !== null) return null;
  const creatorRoles = grants
    .filter(({ orgId, role }) => orgId === home.id || (role === 'admin' && home.path.includes(orgId)))
    .map(({ role }) => role);
  return {
    kind: 'api_key',
    ...{ userId, keyId, org: home, expiresAt: key.expiresAt, scopedEntityIds: key.scopedEntityIds },
    grants: scopedRoles(key.scopedRoles, creatorRoles).map((role) => ({ orgId: home.id, role })),
  };
}

async function findGrants(tx: Tx, org: OrgScope, userId: string): Promise<readonly RoleGrant[] | null> {
  const row = await tx.maybeOne<{ grants: readonly RoleGrant[] | null }>(sql`
    select (
      select jsonb_agg(jsonb_build_object('orgId', g.org_id, 'role', g.role))
      from role_grants g join orgs o on o.id = g.org_id
      where g.user_id = u.id and g.org_id = any (${org.path}) and o.deleted_at is null
    ) as grants
    from users u where u.id = ${userId} and u.deleted_at is null`);
  return row && (row.grants ?? []);
}

interface KeyRow {
  readonly orgId: string;
  readonly expiresAt: Date;
  readonly scopedRoles: readonly Role[] | null;
  readonly scopedEntityIds: readonly string[] | null;
}

/** A key of an organization above is as good here as it was when it was shown. */
async function findKey(tx: Tx, userId: string, keyId: string): Promise<KeyRow | null> {
  return await tx.maybeOne<KeyRow>(sql`
    select org_id as "orgId", expires_at as "expiresAt", scoped_roles as "scopedRoles",
      scoped_entity_ids as "scopedEntityIds"
    from api_keys
    where id = ${keyId} and created_by_user_id = ${userId} and agent_id is null
      and revoked_at is null and expires_at > now()`);
}

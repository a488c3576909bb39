import type { Role } from '@lintel/contract/roles';
import type { Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { RoleGrant } from '../kernel/call.ts';
import type { OrgPosition } from './role-grants.rules.ts';

/** The live ones among the organizations named. Held until the end, so that none is purged before its grants are in. */
export function holdOrgPositions(tx: Tx, ids: readonly string[]): Promise<OrgPosition[]> {
  return tx.query<OrgPosition>(sql`
    select o.id, o.path from orgs o where o.id = any (${ids}) and o.deleted_at is null order by o.id for key share`);
}

/** One statement for all organizations: their epochs are then bumped in one order, and no two grants deadlock. */
export async function insertGrants(
  tx: Tx,
  userId: string,
  grants: readonly RoleGrant[],
  grantedBy: string,
): Promise<void> {
  await tx.execute(sql`
    insert into role_grants (org_id, user_id, role, granted_by)
    select g.org_id, ${userId}, g.role, ${grantedBy}
    from unnest(${grants.map((grant) => grant.orgId)}::text[], ${grants.map((grant) => grant.role)}::text[])
      as g (org_id, role)
    on conflict do nothing`);
}

export async function deleteGrants(tx: Tx, userId: string, grants: readonly RoleGrant[]): Promise<void> {
  await tx.execute(sql`
    delete from role_grants r
    using unnest(${grants.map((grant) => grant.orgId)}::text[], ${grants.map((grant) => grant.role)}::text[])
      as g (org_id, role)
    where r.user_id = ${userId} and r.org_id = g.org_id and r.role = g.role`);
}

/** All grants of a live user in live organizations; empty for a deleted or unknown one. */
export async function grantsOfUser(tx: Tx, userId: string): Promise<RoleGrant[]> {
  const rows = await tx.query<{ org_id: string; role: Role }>(sql`
    select g.org_id, g.role from role_grants g
    join users u on u.id = g.user_id and u.deleted_at is null
    join orgs o on o.id = g.org_id and o.deleted_at is null
    where g.user_id = ${userId}`);
  return rows.map((row) => ({ orgId: row.org_id, role: row.role }));
}

/**
 * Whether a user belongs to any organization that is neither below one of `adminOrgIds` nor the one excepted. A deleted
 * organization counts: it may be restored.
 */
export async function belongsElsewhere(
  tx: Tx,
  userId: string,
  adminOrgIds: readonly string[],
  exceptOrgId: string | null,
): Promise<boolean> {
  const row = await tx.one<{ elsewhere: boolean }>(sql`
    select exists (
      select from role_grants g join orgs o on o.id = g.org_id
      where g.user_id = ${userId} and g.org_id is distinct from ${exceptOrgId}::text
        and not o.path && ${adminOrgIds}::text[]
    ) as elsewhere`);
  return row.elsewhere;
}

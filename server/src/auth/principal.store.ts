import type { Role } from '@lintel/contract/roles';
import type { Queryable, Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { OrgScope, RoleGrant } from '../kernel/call.ts';

export interface CredentialRow {
  readonly org: OrgScope;
  readonly keyId: string;
  readonly userId: string;
  readonly expiresAt: Date;
  readonly scopedRoles: readonly Role[] | null;
  readonly scopedEntityIds: readonly string[] | null;
  readonly creatorRoles: readonly Role[];
  readonly agent: {
    readonly id: string;
    readonly allowedEntityIds: readonly string[];
    readonly confirmationMode: 'policy' | 'always' | 'human';
  } | null;
  /** Why the credential is refused; null when it is good. */
  readonly rejected: string | null;
}

interface RawCredential {
  org_id: string;
  org_path: string[];
  org_epoch: number;
  org_timezone: string | null;
  org_default_locale: string;
  key_id: string;
  user_id: string;
  expires_at: Date;
  scoped_roles: Role[] | null;
  scoped_entity_ids: string[] | null;
  creator_roles: Role[];
  agent_id: string | null;
  agent_allowed_entity_ids: string[] | null;
  agent_confirmation_mode: 'policy' | 'always' | 'human' | null;
  rejected: string | null;
}

export async function findCredential(db: Queryable, secretHash: Buffer): Promise<CredentialRow | null> {
  const query = sql`select * from authenticate_key(${secretHash})`;
  const row = await db.maybeOne<RawCredential>({ ...query, isUrgent: true });
  return row === null ? null : toCredential(row);
}

function toCredential(row: RawCredential): CredentialRow {
  return {
    org: {
      id: row.org_id,
      path: row.org_path,
      epoch: row.org_epoch,
      timezone: row.org_timezone,
      defaultLocale: row.org_default_locale,
      deletedAt: null,
    },
    keyId: row.key_id,
    userId: row.user_id,
    expiresAt: row.expires_at,
    scopedRoles: row.scoped_roles,
    scopedEntityIds: row.scoped_entity_ids,
    creatorRoles: row.creator_roles,
    agent:
      row.agent_id === null
        ? null
        : {
            id: row.agent_id,
            allowedEntityIds: row.agent_allowed_entity_ids ?? [],
            confirmationMode: row.agent_confirmation_mode ?? 'policy',
          },
    rejected: row.rejected,
  };
}

/** The live user an identity stands for, with all their grants; null when there is none. */
export async function findUserByIdentity(
  tx: Tx,
  issuer: string,
  subject: string,
): Promise<{ userId: string; grants: RoleGrant[] } | null> {
  const row = await tx.maybeOne<{ user_id: string; grants: { org_id: string; role: Role }[] | null }>(sql`
    select u.id as user_id, (
      select jsonb_agg(jsonb_build_object('org_id', g.org_id, 'role', g.role))
      from role_grants g join orgs o on o.id = g.org_id where g.user_id = u.id and o.deleted_at is null
    ) as grants
    from user_identities i join users u on u.id = i.user_id
    where i.issuer = ${issuer} and i.subject = ${subject} and u.deleted_at is null`);
  if (row === null) return null;
  const grants = (row.grants ?? []).map((grant) => ({ orgId: grant.org_id, role: grant.role }));
  return { userId: row.user_id, grants };
}

interface RawOrg {
  id: string;
  path: string[];
  epoch: number;
  timezone: string | null;
  default_locale: string;
  deleted_at: Date | null;
}

export async function findOrgScope(tx: Tx, orgId: string): Promise<OrgScope | null> {
  const row = await tx.maybeOne<RawOrg>(sql`
    select o.id, o.path, e.epoch, o.timezone, o.default_locale, o.deleted_at
    from orgs o join org_epochs e on e.org_id = o.id where o.id = ${orgId}`);
  if (row === null) return null;
  return {
    id: row.id,
    path: row.path,
    epoch: row.epoch,
    timezone: row.timezone,
    defaultLocale: row.default_locale,
    deletedAt: row.deleted_at,
  };
}

export async function touchKeys(
  tx: Tx,
  uses: readonly { orgId: string; keyId: string; at: Date }[],
): Promise<void> {
  await tx.execute(sql`
    insert into key_uses (org_id, key_id, last_used_at)
    select u.org_id, u.key_id, u.at
    from unnest(${uses.map((use) => use.orgId)}::text[], ${uses.map((use) => use.keyId)}::text[],
      ${uses.map((use) => use.at)}::timestamptz[]) as u (org_id, key_id, at)
    join api_keys k on k.org_id = u.org_id and k.id = u.key_id
    on conflict (org_id, key_id) do update set last_used_at = greatest(key_uses.last_used_at, excluded.last_used_at)`);
}

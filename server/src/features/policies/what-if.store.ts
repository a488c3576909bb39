import type { LocalizedText } from '@lintel/contract/common';
import type { ActorKind } from '@lintel/contract/events';
import type { Role } from '@lintel/contract/roles';
import type { Tx } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { OrgScope, RoleGrant } from '../../kernel/call.ts';

export interface PersonRow {
  readonly userId: string;
  readonly name: LocalizedText;
  readonly grants: readonly RoleGrant[];
}

/** Everybody with a role here or admin above, with all that counts here. */
export function listPeople(tx: Tx, org: OrgScope, limit: number): Promise<PersonRow[]> {
  return tx.query<PersonRow>(sql`
    select u.id as "userId", u.name, held.grants
    from users u join (
      select g.user_id, jsonb_agg(jsonb_build_object('orgId', g.org_id, 'role', g.role)) as grants from role_grants g
      where g.org_id = ${org.id} or (g.role = 'admin' and g.org_id = any (${org.path})) group by g.user_id
    ) held on held.user_id = u.id
    where u.deleted_at is null order by u.id limit ${limit}`);
}

export interface KeyRow {
  readonly keyId: string;
  /** This one, or one above. */
  readonly orgId: string;
  readonly name: string;
  readonly userId: string;
  readonly expiresAt: Date;
  readonly scopedRoles: readonly Role[] | null;
  readonly scopedEntityIds: readonly string[] | null;
  readonly creatorRoles: readonly Role[];
}

/** Which of them: those that are good after this instant. */
interface Which {
  readonly after: Date;
  readonly limit: number;
}

/** Those of here, and those above, of these organizations, that carry admin down. */
export function listKeys(
  tx: Tx,
  org: OrgScope,
  seen: readonly string[],
  { after, limit }: Which,
): Promise<KeyRow[]> {
  return tx.query<KeyRow>(sql`
    select k.id as "keyId", k.org_id as "orgId", k.name, u.id as "userId", k.expires_at as "expiresAt",
      k.scoped_roles as "scopedRoles", k.scoped_entity_ids as "scopedEntityIds", held.roles as "creatorRoles"
    from api_keys k join users u on u.id = k.created_by_user_id join orgs home on home.id = k.org_id
    cross join lateral (
      select coalesce(array_agg(distinct g.role), '{}') as roles from role_grants g
      where g.user_id = u.id and (g.org_id = home.id or (g.role = 'admin' and g.org_id = any (home.path)))
    ) held
    where k.org_id = any (${seen}) and k.agent_id is null and k.revoked_at is null and k.expires_at > ${after}
      and u.deleted_at is null and (k.org_id = ${org.id}
        or ('admin' = any (held.roles) and 'admin' = any (coalesce(k.scoped_roles, held.roles))))
    order by k.id limit ${limit}`);
}

export interface AgentRow {
  readonly agentId: string;
  readonly name: string;
  readonly userId: string;
  /** The last moment at which it has a credential. */
  readonly expiresAt: Date;
  readonly allowedEntityIds: readonly string[];
  readonly confirmationMode: 'policy' | 'always' | 'human';
  readonly creatorRoles: readonly Role[];
}

export function listAgents(tx: Tx, org: OrgScope, { after, limit }: Which): Promise<AgentRow[]> {
  return tx.query<AgentRow>(sql`
    select a.id as "agentId", a.name, u.id as "userId", least(a.expires_at, held.until) as "expiresAt",
      coalesce(agent_reach(a.org_id, a.allowed_entity_ids, a.allowed_portal_ids), '{}') as "allowedEntityIds",
      a.confirmation_mode as "confirmationMode", coalesce((
        select array_agg(distinct g.role) from role_grants g where g.user_id = u.id
          and (g.org_id = ${org.id} or (g.role = 'admin' and g.org_id = any (${org.path})))
      ), '{}') as "creatorRoles"
    from agents a join users u on u.id = a.owner_user_id
    join (
      select k.agent_id, max(k.expires_at) as until from api_keys k
      where k.org_id = ${org.id} and k.agent_id is not null and k.revoked_at is null group by k.agent_id
    ) held on held.agent_id = a.id
    where a.org_id = ${org.id} and a.revoked_at is null and least(a.expires_at, held.until) > ${after}
      and u.deleted_at is null
    order by a.id limit ${limit}`);
}

export interface OpenEvent {
  readonly id: string;
  readonly occurredAt: Date;
  readonly entityId: string;
  readonly actorKind: ActorKind;
  readonly userId: string | null;
  readonly agentId: string | null;
  readonly keyId: string | null;
  readonly guestId: string | null;
  /** A toggle where the state was not known: it may have opened. */
  readonly command: 'open' | 'toggle';
}

/** Opens that somebody asked for, newest first. What a portal did for them is a part of theirs. */
export function listOpens(
  tx: Tx,
  orgId: string,
  range: { readonly since: Date; readonly limit: number },
): Promise<OpenEvent[]> {
  return tx.query<OpenEvent>(sql`
    select id, occurred_at as "occurredAt", resource_id as "entityId", actor_kind as "actorKind",
      actor_user_id as "userId", actor_agent_id as "agentId", actor_api_key_id as "keyId", actor_guest_id as "guestId",
      details ->> 'command' as command
    from audit_events
    where org_id = ${orgId} and occurred_at >= ${range.since} and event_type = 'entity.action'
      and outcome = 'succeeded' and details ->> 'command' in ('open', 'toggle') and not details ? 'part_of'
      and actor_kind <> 'system' and resource_id is not null
    order by occurred_at desc, id desc limit ${range.limit}`);
}

export async function deviceExists(
  tx: Tx,
  orgId: string,
  integrationId: string,
  id: string,
): Promise<boolean> {
  const row = await tx.maybeOne(sql`
    select from devices where org_id = ${orgId} and integration_id = ${integrationId} and id = ${id}
      and deleted_at is null`);
  return row !== null;
}

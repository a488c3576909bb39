import type { Tx } from '../../db/database.ts';
import { nothing, type SqlQuery, sql } from '../../db/sql.ts';
import type { AgentFields } from './agents.rules.ts';

export interface Agent extends AgentFields {
  readonly id: string;
  readonly orgId: string;
  readonly ownerUserId: string;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const columns = sql`
  a.id, a.org_id as "orgId", a.owner_user_id as "ownerUserId", a.name, a.purpose,
  a.confirmation_mode as "confirmationMode", a.allowed_entity_ids as "allowedEntityIds",
  a.allowed_portal_ids as "allowedPortalIds", a.allowed_tool_names as "allowedToolNames",
  a.expires_at as "expiresAt", a.revoked_at as "revokedAt", a.created_at as "createdAt", a.updated_at as "updatedAt",
  (select max(u.last_used_at) from api_keys k join key_uses u on u.org_id = k.org_id and u.key_id = k.id
    where k.org_id = a.org_id and k.agent_id = a.id) as "lastUsedAt"`;

export function insertAgent(
  tx: Tx,
  agent: AgentFields & { orgId: string; id: string; ownerUserId: string },
): Promise<Agent> {
  return tx.one<Agent>(sql`
    insert into agents as a (org_id, id, owner_user_id, name, purpose, confirmation_mode, allowed_entity_ids,
      allowed_portal_ids, allowed_tool_names, expires_at)
    values (${agent.orgId}, ${agent.id}, ${agent.ownerUserId}, ${agent.name}, ${agent.purpose},
      ${agent.confirmationMode}, ${agent.allowedEntityIds}, ${agent.allowedPortalIds}, ${agent.allowedToolNames},
      ${agent.expiresAt})
    returning ${columns}`);
}

export function findAgent(tx: Tx, orgId: string, id: string): Promise<Agent | null> {
  return selectAgent(tx, orgId, id, nothing);
}

/** Locks the agent: a revocation and a new credential can not pass each other. */
export function lockAgent(tx: Tx, orgId: string, id: string): Promise<Agent | null> {
  return selectAgent(tx, orgId, id, sql`for update`);
}

function selectAgent(tx: Tx, orgId: string, id: string, lock: SqlQuery): Promise<Agent | null> {
  return tx.maybeOne<Agent>(sql`
    select ${columns} from agents a where a.org_id = ${orgId} and a.id = ${id} ${lock}`);
}

export async function listAgents(
  tx: Tx,
  orgId: string,
  page: { ownerUserId: string | null; limit: number; offset: number },
): Promise<{ items: Agent[]; total: number }> {
  const mine = page.ownerUserId === null ? nothing : sql`and a.owner_user_id = ${page.ownerUserId}`;
  const { total } = await tx.one<{ total: number }>(sql`
    select count(*) as total from agents a where a.org_id = ${orgId} ${mine}`);
  const items = await tx.query<Agent>(sql`
    select ${columns} from agents a where a.org_id = ${orgId} ${mine}
    order by a.created_at, a.id limit ${page.limit} offset ${page.offset}`);
  return { items, total };
}

export function updateAgent(tx: Tx, orgId: string, id: string, agent: AgentFields): Promise<Agent> {
  return tx.one<Agent>(sql`
    update agents a set name = ${agent.name}, purpose = ${agent.purpose}, confirmation_mode = ${agent.confirmationMode},
      allowed_entity_ids = ${agent.allowedEntityIds}, allowed_portal_ids = ${agent.allowedPortalIds},
      allowed_tool_names = ${agent.allowedToolNames}, expires_at = ${agent.expiresAt}, updated_at = now()
    where a.org_id = ${orgId} and a.id = ${id}
    returning ${columns}`);
}

export interface SiteDevice {
  readonly id: string;
  readonly providerType: string;
  readonly deviceMetadata: Record<string, unknown>;
}

/** The live ones of these devices. */
export function listDevices(tx: Tx, orgId: string, ids: readonly string[]): Promise<SiteDevice[]> {
  return tx.query<SiteDevice>(sql`
    select d.id, i.provider_type as "providerType", d.device_metadata as "deviceMetadata"
    from devices d join integrations i on i.org_id = d.org_id and i.id = d.integration_id
    where d.org_id = ${orgId} and d.id = any (${ids}::text[]) and d.deleted_at is null and i.deleted_at is null`);
}

/**
 * Stops a locked agent and its credentials; returns how many were still good. The keys are locked first, revoked ones
 * too, so that a restore going on at the same moment is seen. Then one statement: the triggers that bump the epoch run
 * after it, which keeps the order of locks (key, then epoch) that a change of a single key has.
 */
export async function revokeAgent(tx: Tx, orgId: string, id: string): Promise<number> {
  await tx.execute(sql`
    select k.id from api_keys k where k.org_id = ${orgId} and k.agent_id = ${id} order by k.id for update`);
  const { stopped } = await tx.one<{ stopped: number }>(sql`
    with stopped as (
      update api_keys k set revoked_at = now(), updated_at = now()
      where k.org_id = ${orgId} and k.agent_id = ${id} and k.revoked_at is null
      returning k.id
    )
    update agents a set revoked_at = coalesce(a.revoked_at, now()),
      updated_at = case when a.revoked_at is null then now() else a.updated_at end
    where a.org_id = ${orgId} and a.id = ${id}
    returning (select count(*) from stopped) as stopped`);
  return stopped;
}

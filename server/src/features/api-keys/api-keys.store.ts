import type { Role } from '@lintel/contract/roles';
import type { Tx } from '../../db/database.ts';
import { nothing, sql } from '../../db/sql.ts';

export interface ApiKey {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly tokenSuffix: string;
  readonly createdByUserId: string;
  readonly agentId: string | null;
  readonly scopedRoles: Role[] | null;
  readonly scopedEntityIds: string[] | null;
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface NewApiKey {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly secretHash: Buffer;
  readonly tokenSuffix: string;
  readonly createdByUserId: string;
  readonly agentId: string | null;
  readonly scopedRoles: Role[] | null;
  readonly scopedEntityIds: string[] | null;
  readonly expiresAt: Date;
}

const columns = sql`
  k.id, k.org_id as "orgId", k.name, k.token_suffix as "tokenSuffix", k.created_by_user_id as "createdByUserId",
  k.agent_id as "agentId", k.scoped_roles as "scopedRoles", k.scoped_entity_ids as "scopedEntityIds",
  k.expires_at as "expiresAt", k.revoked_at as "revokedAt", u.last_used_at as "lastUsedAt",
  k.created_at as "createdAt", k.updated_at as "updatedAt"`;
const source = sql`api_keys k left join key_uses u on u.org_id = k.org_id and u.key_id = k.id`;

export async function insertKey(tx: Tx, key: NewApiKey): Promise<Date> {
  const row = await tx.one<{ created_at: Date }>(sql`
    insert into api_keys (org_id, id, name, secret_hash, token_suffix, created_by_user_id, agent_id, scoped_roles,
      scoped_entity_ids, expires_at)
    values (${key.orgId}, ${key.id}, ${key.name}, ${key.secretHash}, ${key.tokenSuffix}, ${key.createdByUserId},
      ${key.agentId}, ${key.scopedRoles}, ${key.scopedEntityIds}, ${key.expiresAt})
    returning created_at`);
  return row.created_at;
}

/** Locks the key, so that two concurrent changes of its state can not both succeed. */
export function lockKey(tx: Tx, orgId: string, id: string): Promise<ApiKey | null> {
  return tx.maybeOne<ApiKey>(sql`
    select ${columns} from ${source} where k.org_id = ${orgId} and k.id = ${id} for update of k`);
}

export interface AgentLife {
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/**
 * The life of the agent whose credential a key is; null for a plain key. A statement after the one that locks the key:
 * revoking an agent locks its keys, so what is read here is what came of it.
 */
export function agentLifeOf(tx: Tx, key: ApiKey): Promise<AgentLife | null> {
  if (key.agentId === null) return Promise.resolve(null);
  return tx.maybeOne<AgentLife>(sql`
    select a.expires_at as "expiresAt", a.revoked_at as "revokedAt"
    from agents a where a.org_id = ${key.orgId} and a.id = ${key.agentId}`);
}

export async function listKeys(
  tx: Tx,
  orgId: string,
  page: { ownerUserId: string | null; limit: number; offset: number },
): Promise<{ items: ApiKey[]; total: number }> {
  const mine = page.ownerUserId === null ? nothing : sql`and k.created_by_user_id = ${page.ownerUserId}`;
  const { total } = await tx.one<{ total: number }>(sql`
    select count(*) as total from api_keys k where k.org_id = ${orgId} ${mine}`);
  const items = await tx.query<ApiKey>(sql`
    select ${columns} from ${source} where k.org_id = ${orgId} ${mine}
    order by k.created_at, k.id limit ${page.limit} offset ${page.offset}`);
  return { items, total };
}

export async function setRevoked(tx: Tx, orgId: string, id: string, revoked: boolean): Promise<void> {
  await tx.execute(sql`
    update api_keys set revoked_at = case when ${revoked} then coalesce(revoked_at, now()) end, updated_at = now()
    where org_id = ${orgId} and id = ${id}`);
}

export async function updateKey(
  tx: Tx,
  orgId: string,
  id: string,
  name: string,
  expiresAt: Date | null,
): Promise<void> {
  await tx.execute(sql`
    update api_keys set name = ${name}, expires_at = coalesce(${expiresAt}, expires_at), updated_at = now()
    where org_id = ${orgId} and id = ${id}`);
}

export async function deleteKey(tx: Tx, orgId: string, id: string): Promise<void> {
  await tx.execute(sql`delete from api_keys where org_id = ${orgId} and id = ${id}`);
}

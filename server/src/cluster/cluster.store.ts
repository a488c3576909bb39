import type { Queryable, Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';

export interface LeaseKey {
  readonly orgId: string;
  readonly integrationId: string;
}

export interface LeaseRow extends LeaseKey {
  readonly epoch: number;
}

export type LeaseHealth = 'ok' | 'reduced' | 'error';

export interface HeldRow extends LeaseRow {
  readonly health: LeaseHealth;
}

/** The node that holds a lease now. */
export interface Owner {
  readonly nodeId: string;
  readonly address: string;
  readonly epoch: number;
}

export interface LiveNode {
  readonly id: string;
  /** Since its last sign of life. */
  readonly silentMs: number;
}

/** Milliseconds since 1970. */
export async function readDatabaseTime(tx: Tx): Promise<number> {
  const row = await tx.one<{ ms: number }>(sql`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`);
  return row.ms;
}

export function upsertNode(tx: Tx, id: string, address: string): Promise<number> {
  return tx.execute(sql`
    insert into nodes (id, address) values (${id}, ${address})
    on conflict (id) do update set address = excluded.address, heartbeat_at = now()`);
}

export function deleteNode(tx: Tx, id: string): Promise<number> {
  return tx.execute(sql`delete from nodes where id = ${id}`);
}

export function deleteLostNodes(tx: Tx): Promise<number> {
  return tx.execute(sql`delete from nodes where heartbeat_at < now() - interval '1 hour'`);
}

export function listLiveNodes(tx: Tx, leaseMs: number): Promise<LiveNode[]> {
  return tx.query(sql`
    select id, (extract(epoch from now() - heartbeat_at) * 1000)::float8 as "silentMs" from nodes
    where heartbeat_at > now() - make_interval(secs => ${leaseMs / 1000}) order by id`);
}

/** All leases of a node in one statement. Answers those that are still its own. */
export function renewLeases(
  tx: Tx,
  nodeId: string,
  held: readonly HeldRow[],
  leaseMs: number,
): Promise<{ integrationId: string }[]> {
  const rows = held.map(({ orgId, integrationId, epoch, health }) => ({
    org_id: orgId,
    integration_id: integrationId,
    epoch,
    health,
  }));
  return tx.query(sql`
    update connection_leases l
    set expires_at = now() + make_interval(secs => ${leaseMs / 1000}), health = mine.health
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as mine (org_id text, integration_id text, epoch bigint, health text)
    where l.org_id = mine.org_id and l.integration_id = mine.integration_id and l.epoch = mine.epoch
      and l.node_id = ${nodeId} and l.expires_at > now()
    returning l.integration_id as "integrationId"`);
}

/**
 * Takes those of the wanted leases that are nobody's. A lease of another that runs is not even locked. One of our own
 * that we do not know of is left from an answer that got lost: it is taken anew.
 */
export function claimLeases(
  tx: Tx,
  nodeId: string,
  wanted: readonly LeaseKey[],
  leaseMs: number,
): Promise<LeaseRow[]> {
  const rows = wanted.map((key) => ({ org_id: key.orgId, integration_id: key.integrationId }));
  return tx.query(sql`
    insert into connection_leases as l (org_id, integration_id, node_id, expires_at)
    select i.org_id, i.id, ${nodeId}, now() + make_interval(secs => ${leaseMs / 1000})
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as wanted (org_id text, integration_id text)
      join integrations i on i.org_id = wanted.org_id and i.id = wanted.integration_id
    where not exists (
      select from connection_leases taken
      where taken.org_id = i.org_id and taken.integration_id = i.id
        and taken.node_id <> ${nodeId} and taken.expires_at > now())
    order by i.org_id, i.id
    on conflict (org_id, integration_id) do update
      set node_id = excluded.node_id, expires_at = excluded.expires_at, epoch = l.epoch + 1, health = 'reduced'
      where l.node_id is null or l.node_id = ${nodeId} or l.expires_at <= now()
    returning l.org_id as "orgId", l.integration_id as "integrationId", l.epoch`);
}

export function releaseLeases(tx: Tx, nodeId: string, leases: readonly LeaseRow[]): Promise<number> {
  const rows = leases.map(({ orgId, integrationId, epoch }) => ({
    org_id: orgId,
    integration_id: integrationId,
    epoch,
  }));
  return tx.execute(sql`
    update connection_leases l set node_id = null, expires_at = now(), health = 'reduced'
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as mine (org_id text, integration_id text, epoch bigint)
    where l.org_id = mine.org_id and l.integration_id = mine.integration_id and l.epoch = mine.epoch
      and l.node_id = ${nodeId}`);
}

export function findOwner(tx: Tx, integrationId: string): Promise<Owner | null> {
  return tx.maybeOne<Owner>(sql`
    select n.id as "nodeId", n.address, l.epoch
    from integrations i
      join connection_leases l on l.org_id = i.org_id and l.integration_id = i.id
      join nodes n on n.id = l.node_id
    where i.id = ${integrationId} and l.expires_at > now()`);
}

/** What is not well elsewhere; everything that is not listed is. */
export function listPoorHealth(
  tx: Tx,
  nodeId: string,
): Promise<{ integrationId: string; health: LeaseHealth }[]> {
  return tx.query(sql`
    select integration_id as "integrationId",
      case when node_id is null or expires_at <= now() then 'reduced' else health end as health
    from connection_leases
    where node_id is distinct from ${nodeId} and (node_id is null or expires_at <= now() or health <> 'ok')`);
}

export async function notify(db: Queryable, channel: string, payload: string): Promise<void> {
  await db.execute(sql`select pg_notify(${channel}, ${payload})`);
}

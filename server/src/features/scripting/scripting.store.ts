import type { ScriptKind } from '@lintel/contract/scripting';
import type { Tx } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';

/** False when all slots of the organization are taken. */
export async function takeSlot(
  tx: Tx,
  orgId: string,
  runId: string,
  { slots, seconds }: { readonly slots: number; readonly seconds: number },
): Promise<boolean> {
  for (let slot = 1; slot <= slots; slot += 1) {
    const taken = await tx.maybeOne(sql`
      insert into script_slots (org_id, slot, run_id, expires_at)
      values (${orgId}, ${slot}, ${runId}, now() + make_interval(secs => ${seconds}))
      on conflict (org_id, slot) do update set run_id = excluded.run_id, expires_at = excluded.expires_at
        where script_slots.expires_at < now()
      returning slot`);
    if (taken !== null) return true;
  }
  return false;
}

export async function freeSlot(tx: Tx, orgId: string, runId: string): Promise<void> {
  await tx.execute(sql`delete from script_slots where org_id = ${orgId} and run_id = ${runId}`);
}

/** Where a record belongs, and what it hangs on. */
export interface Home {
  readonly orgId: string;
  readonly isLive: boolean;
  /** Of a zone or device. */
  readonly integrationId: string | null;
  /** Of a zone. */
  readonly parentZoneId: string | null;
  /** Of an entity. */
  readonly deviceId: string | null;
  /** Of an integration. */
  readonly providerType: string | null;
}

interface RawHome {
  org_id: string;
  is_live: boolean;
  integration_id?: string;
  parent_zone_id?: string | null;
  device_id?: string;
  provider_type?: string;
}

type HomedKind = Exclude<ScriptKind, 'user'>;

const homes: Readonly<Record<HomedKind, (id: string) => ReturnType<typeof sql>>> = {
  org: (id) => sql`select id as org_id, deleted_at is null as is_live from orgs where id = ${id}`,
  integration: (id) =>
    sql`select org_id, deleted_at is null as is_live, provider_type from integrations where id = ${id}`,
  zone: (id) =>
    sql`select org_id, deleted_at is null as is_live, integration_id, parent_zone_id from zones where id = ${id}`,
  device: (id) =>
    sql`select org_id, deleted_at is null as is_live, integration_id from devices where id = ${id}`,
  entity: (id) => sql`select org_id, deleted_at is null as is_live, device_id from entities where id = ${id}`,
};

export async function findHome(tx: Tx, kind: HomedKind, id: string): Promise<Home | null> {
  const row = await tx.maybeOne<RawHome>(homes[kind](id));
  if (row === null) return null;
  return {
    orgId: row.org_id,
    isLive: row.is_live,
    integrationId: row.integration_id ?? null,
    parentZoneId: row.parent_zone_id ?? null,
    deviceId: row.device_id ?? null,
    providerType: row.provider_type ?? null,
  };
}

/** Whether a user beside those has the address. */
export async function isEmailTaken(tx: Tx, email: string, exceptIds: readonly string[]): Promise<boolean> {
  const row = await tx.one<{ taken: boolean }>(sql`
    select exists (
      select from users where email = ${email} and deleted_at is null and id <> all(${exceptIds}::text[])
    ) as taken`);
  return row.taken;
}

export interface OrgPosition {
  readonly id: string;
  readonly path: readonly string[];
}

/** The organizations a user has roles in. */
export async function orgsOfUser(tx: Tx, userId: string): Promise<OrgPosition[]> {
  return tx.query<{ id: string; path: string[] }>(sql`
    select id, path from orgs where deleted_at is null and id in (select org_id from role_grants where user_id = ${userId})
    order by cardinality(path), id`);
}

/** An organization and those below it, from above. */
export async function subtreeOf(tx: Tx, orgId: string): Promise<OrgPosition[]> {
  return tx.query<{ id: string; path: string[] }>(sql`
    select id, path from orgs where deleted_at is null and path @> array[${orgId}]::text[]
    order by cardinality(path), id`);
}

export async function integrationIdsOf(tx: Tx, orgId: string, withDeleted: boolean): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(sql`
    select id from integrations where org_id = ${orgId} and (${withDeleted} or deleted_at is null) order by id`);
  return rows.map(({ id }) => id);
}

export interface Part {
  readonly kind: ScriptKind;
  readonly id: string;
  readonly isLive: boolean;
}

const parts: Readonly<
  Record<'org' | 'integration' | 'zone' | 'device', (id: string) => ReturnType<typeof sql>>
> = {
  org: (id) => sql`
    select 'org' as kind, id, deleted_at is null as is_live from orgs where parent_id = ${id}
    union all select 'integration', id, deleted_at is null from integrations where org_id = ${id}`,
  integration: (id) => sql`
    select 'zone' as kind, id, deleted_at is null as is_live from zones where integration_id = ${id}
    union all select 'device', id, deleted_at is null from devices where integration_id = ${id}`,
  zone: (id) => sql`
    select 'zone' as kind, id, deleted_at is null as is_live from zones where parent_zone_id = ${id}
    union all select 'entity', id, deleted_at is null from entities where zone_id = ${id}`,
  device: (id) =>
    sql`select 'entity' as kind, id, deleted_at is null as is_live from entities where device_id = ${id}`,
};

/** What hangs on a record. */
export async function partsOf(tx: Tx, kind: keyof typeof parts, id: string): Promise<Part[]> {
  const rows = await tx.query<{ kind: ScriptKind; id: string; is_live: boolean }>(parts[kind](id));
  return rows.map((row) => ({ kind: row.kind, id: row.id, isLive: row.is_live }));
}

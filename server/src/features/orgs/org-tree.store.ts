import type { Tx } from '../../db/database.ts';
import { nothing, sql } from '../../db/sql.ts';
import { type Org, orgColumns } from './orgs.store.ts';

/**
 * One change of the tree at a time in the whole installation. Two moves that are each fine can close a cycle together,
 * and a path is derived from rows that another change may be rewriting.
 */
export async function lockTree(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('lintel organization tree', 0))`);
}

/** Also waits for grants and integrations that are just being added: their foreign keys hold the row. */
export function lockOrg(tx: Tx, id: string): Promise<Org | null> {
  return tx.maybeOne<Org>(sql`select ${orgColumns} from orgs o where o.id = ${id} for update of o`);
}

export interface NewOrg {
  readonly id: string;
  readonly parent: Pick<Org, 'id' | 'path' | 'defaultLocale'>;
  readonly name: Readonly<Record<string, string>>;
  readonly description: string | null;
}

/** Null when the id is taken, or was taken by an organization that is gone. */
export function insertOrg(tx: Tx, { id, parent, name, description }: NewOrg): Promise<Org | null> {
  return tx.maybeOne<Org>(sql`
    insert into orgs as o (id, parent_id, path, name, description, default_locale)
    select ${id}, ${parent.id}, ${[...parent.path, id]}::text[], ${JSON.stringify(name)}::jsonb, ${description},
      ${parent.defaultLocale}
    where not exists (select from retired_org_ids r where r.id = ${id})
    on conflict (id) do nothing
    returning ${orgColumns}`);
}

export async function updateOrg(tx: Tx, org: Pick<Org, 'id' | 'name' | 'description'>): Promise<void> {
  await tx.execute(sql`
    update orgs set name = ${JSON.stringify(org.name)}::jsonb, description = ${org.description}, updated_at = now()
    where id = ${org.id}`);
}

/** How many levels the subtree has, deleted organizations included: they move along and may be restored. */
export async function subtreeHeight(tx: Tx, org: Pick<Org, 'id' | 'path'>): Promise<number> {
  const { deepest } = await tx.one<{ deepest: number }>(sql`
    select max(cardinality(o.path)) as deepest from orgs o where o.path @> ${[org.id]}::text[]`);
  return deepest - org.path.length + 1;
}

export async function moveSubtree(
  tx: Tx,
  org: Pick<Org, 'id' | 'path'>,
  parent: Pick<Org, 'id' | 'path'>,
): Promise<void> {
  // In the order every bump takes them: the triggers of the update below go row by row and could meet one half-way.
  await tx.execute(sql`
    select e.org_id from org_epochs e join orgs o on o.id = e.org_id where o.path @> ${[org.id]}::text[]
    order by e.org_id for update of e`);
  await tx.execute(sql`
    update orgs set
      path = ${parent.path}::text[] || path[${org.path.length}::int:],
      parent_id = case when id = ${org.id} then ${parent.id} else parent_id end,
      updated_at = case when id = ${org.id} then now() else updated_at end
    where path @> ${[org.id]}::text[]`);
}

export async function setDeleted(tx: Tx, id: string, deleted: boolean): Promise<void> {
  await tx.execute(sql`
    update orgs set deleted_at = case when ${deleted} then now() end, updated_at = now() where id = ${id}`);
}

/** Whether organizations or integrations hang below this one. */
export async function hasParts(tx: Tx, id: string, which: 'live' | 'all'): Promise<boolean> {
  const live = which === 'live' ? sql`and part.deleted_at is null` : nothing;
  const { found } = await tx.one<{ found: boolean }>(sql`
    select exists (select from orgs part where part.parent_id = ${id} ${live})
      or exists (select from integrations part where part.org_id = ${id} ${live}) as found`);
  return found;
}

/** Whether a live user has roles here and in no other live organization. */
export async function hasOnlyHereUsers(tx: Tx, id: string): Promise<boolean> {
  const { found } = await tx.one<{ found: boolean }>(sql`
    select exists (
      select from role_grants g join users u on u.id = g.user_id
      where g.org_id = ${id} and u.deleted_at is null and not exists (
        select from role_grants other join orgs o on o.id = other.org_id
        where other.user_id = g.user_id and other.org_id <> ${id} and o.deleted_at is null)
    ) as found`);
  return found;
}

/** Grants, keys, agents and invitations go with the row; its id is never given again. */
export async function purgeOrg(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`delete from orgs where id = ${id}`);
  await tx.execute(sql`insert into retired_org_ids (id) values (${id})`);
}

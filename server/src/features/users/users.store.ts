import type { Role } from '@lintel/contract/roles';
import { isUniqueViolation, type Tx } from '../../db/database.ts';
import { joinSql, likeContains, nothing, type SqlQuery, sql } from '../../db/sql.ts';
import { AppError } from '../../kernel/app-error.ts';
import type { Reach } from './users.rules.ts';

export interface User {
  readonly id: string;
  readonly name: Record<string, string>;
  readonly email: string;
  readonly emailIsSynthetic: boolean;
  readonly phone: string | null;
  readonly locale: string | null;
  /** Of live organizations within the reach it was read with. */
  readonly roles: Record<string, Role[]>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly deletedAt: Date | null;
}

export interface UserFields {
  readonly name: Record<string, string>;
  readonly email: string;
  readonly emailIsSynthetic: boolean;
  readonly phone: string | null;
}

export interface UserFilter {
  readonly text: string | null;
  readonly excludeIds: readonly string[];
  readonly deleted: 'hidden' | 'shown' | 'only';
  /** Narrows further: only members of this organization or of one below it. */
  readonly withinOrgId: string | null;
}

export interface PageRequest {
  readonly limit: number;
  readonly offset: number;
}

function reachable(reach: Reach): SqlQuery {
  if (reach.kind === 'everyone') return sql`true`;
  return reach.kind === 'org' ? sql`o.id = ${reach.orgId}` : sql`o.path @> array[${reach.orgId}]`;
}

function columns(reach: Reach): SqlQuery {
  return sql`
    u.id, u.name, u.email, u.email_is_synthetic as "emailIsSynthetic", u.phone, u.locale,
    u.created_at as "createdAt", u.updated_at as "updatedAt", u.deleted_at as "deletedAt",
    coalesce((
      select jsonb_object_agg(r.org_id, r.roles) from (
        select g.org_id, jsonb_agg(g.role order by g.role) as roles
        from role_grants g join orgs o on o.id = g.org_id
        where g.user_id = u.id and o.deleted_at is null and ${reachable(reach)}
        group by g.org_id) r
    ), '{}') as roles`;
}

function isMemberOf(reach: Reach): SqlQuery {
  return sql`exists (
    select from role_grants g join orgs o on o.id = g.org_id
    where g.user_id = u.id and o.deleted_at is null and ${reachable(reach)})`;
}

/** Also finds users without a role in reach: whether that is enough is the caller's question. */
export function findUser(tx: Tx, reach: Reach, id: string): Promise<User | null> {
  return tx.maybeOne<User>(sql`select ${columns(reach)} from users u where u.id = ${id}`);
}

/** A statement of its own: one that waits for a lock would show grants from before the wait. */
export async function lockUser(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`select from users u where u.id = ${id} for no key update`);
}

export async function listUsers(
  tx: Tx,
  reach: Reach,
  filter: UserFilter,
  page: PageRequest,
): Promise<{ items: User[]; total: number }> {
  const where = joinSql(conditions(reach, filter), ' and ');
  const { total } = await tx.one<{ total: number }>(sql`
    select count(*) as total from users u where ${where}`);
  const items = await tx.query<User>(sql`
    select ${columns(reach)} from users u where ${where}
    order by u.created_at, u.id limit ${page.limit} offset ${page.offset}`);
  return { items, total };
}

function conditions(reach: Reach, filter: UserFilter): SqlQuery[] {
  const { text, excludeIds, deleted, withinOrgId } = filter;
  const wanted = [
    reach.kind === 'everyone' ? sql`true` : isMemberOf(reach),
    withinOrgId === null ? nothing : isMemberOf({ kind: 'subtree', orgId: withinOrgId }),
    deleted === 'hidden' ? sql`u.deleted_at is null` : nothing,
    deleted === 'only' ? sql`u.deleted_at is not null` : nothing,
    text === null ? nothing : matches(text),
    excludeIds.length === 0 ? nothing : sql`u.id <> all (${excludeIds}::text[])`,
  ];
  return wanted.filter((condition) => condition !== nothing);
}

function matches(text: string): SqlQuery {
  const pattern = likeContains(text);
  return sql`(u.email ilike ${pattern}
    or exists (select from jsonb_each_text(u.name) as n (locale, text) where n.text ilike ${pattern}))`;
}

export async function insertUser(tx: Tx, id: string, fields: UserFields): Promise<void> {
  await translateTaken(async () => {
    const inserted = await tx.execute(sql`
      insert into users (id, email, email_is_synthetic, name, phone)
      select ${id}, ${fields.email}, ${fields.emailIsSynthetic}, ${fields.name}::jsonb, ${fields.phone}
      where not exists (select from retired_user_ids r where r.id = ${id})`);
    if (inserted === 0) throw taken();
  });
}

export async function updateUser(tx: Tx, id: string, fields: UserFields): Promise<void> {
  await translateTaken(() =>
    tx.execute(sql`
      update users set email = ${fields.email}, email_is_synthetic = ${fields.emailIsSynthetic},
        name = ${fields.name}, phone = ${fields.phone}, updated_at = now()
      where id = ${id}`),
  );
}

export async function setDeleted(tx: Tx, id: string, deleted: boolean): Promise<void> {
  await translateTaken(() =>
    tx.execute(sql`
      update users set deleted_at = case when ${deleted} then coalesce(deleted_at, now()) end, updated_at = now()
      where id = ${id}`),
  );
}

/** Grants, keys, agents and identity links go with the row. */
export async function deleteUser(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`delete from users where id = ${id}`);
}

/** Audit events outlive the person they name; whoever got the id again would stand in for them. */
export async function retireUserId(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`insert into retired_user_ids (id) values (${id})`);
}

/** Whoever takes an administrator away waits here for the others who do. */
export async function lockAdministration(tx: Tx, orgId: string): Promise<void> {
  await tx.execute(sql`select from orgs o where o.id = ${orgId} for no key update`);
}

export async function epochOf(tx: Tx, orgId: string): Promise<number> {
  const row = await tx.one<{ epoch: number }>(
    sql`select e.epoch from org_epochs e where e.org_id = ${orgId}`,
  );
  return row.epoch;
}

export async function isAdminOf(tx: Tx, orgId: string, userId: string): Promise<boolean> {
  const row = await tx.one<{ found: boolean }>(sql`
    select exists (
      select from role_grants g where g.org_id = ${orgId} and g.user_id = ${userId} and g.role = 'admin'
    ) as found`);
  return row.found;
}

export async function hasOtherAdmin(tx: Tx, orgId: string, userId: string): Promise<boolean> {
  const row = await tx.one<{ found: boolean }>(sql`
    select exists (
      select from role_grants g join users u on u.id = g.user_id
      where g.org_id = ${orgId} and g.role = 'admin' and g.user_id <> ${userId} and u.deleted_at is null
    ) as found`);
  return row.found;
}

/** Says nothing of whose the id or address is: they may be of another organization. */
async function translateTaken(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw isUniqueViolation(error) ? taken(error) : error;
  }
}

function taken(cause?: unknown): AppError {
  return new AppError('already_exists', 'a user with this id or address exists', { cause });
}

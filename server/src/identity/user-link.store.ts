import type { Queryable, Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';

/** Where events about a person belong: their first organization, else the root. */
export async function homeOrgOf(tx: Tx, userId: string | null, rootOrgId: string): Promise<string> {
  // Asked for nobody as well: the time a failed sign-in takes must not tell whether the address is known.
  const row = await tx.maybeOne<{ id: string }>(sql`
    select o.id from role_grants g join orgs o on o.id = g.org_id
    where g.user_id = ${userId} and o.deleted_at is null order by o.created_at, o.id limit 1`);
  return row?.id ?? rootOrgId;
}

export async function linkIdentity(tx: Tx, issuer: string, subject: string, userId: string): Promise<void> {
  await tx.execute(sql`
    insert into user_identities (issuer, subject, user_id) values (${issuer}, ${subject}, ${userId})`);
}

export async function lockIdentityLink(tx: Tx, issuer: string, subject: string): Promise<void> {
  await tx.query(
    sql`select pg_advisory_xact_lock(hashtextextended(${`lintel identity link ${issuer} ${subject}`}, 0))`,
  );
}

/** The user an identity is linked to, deleted or not. */
export async function linkedUserOf(db: Queryable, issuer: string, subject: string): Promise<string | null> {
  const row = await db.maybeOne<{ user_id: string }>(sql`
    select user_id from user_identities where issuer = ${issuer} and subject = ${subject}`);
  return row?.user_id ?? null;
}

export async function deleteLinksOf(tx: Tx, userId: string): Promise<void> {
  await tx.execute(sql`delete from user_identities where user_id = ${userId}`);
}

export interface UserCandidate {
  readonly id: string;
  /** Whether an identity of the issuer stands for the user already. */
  readonly isLinked: boolean;
}

/** Held, so that no other identity comes to stand for them meanwhile. */
export async function holdLiveUserByEmail(
  tx: Tx,
  email: string,
  issuer: string,
): Promise<UserCandidate | null> {
  const user = await tx.maybeOne<{ id: string }>(sql`
    select u.id from users u where u.email = ${email} and u.deleted_at is null for update`);
  if (user === null) return null;
  // A statement of its own: one that waited for the lock would show links from before the wait.
  const { isLinked } = await tx.one<{ isLinked: boolean }>(sql`
    select exists (
      select from user_identities l where l.user_id = ${user.id} and l.issuer = ${issuer}) as "isLinked"`);
  return { id: user.id, isLinked };
}

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly emailIsSynthetic: boolean;
  readonly name: string;
}

export async function insertUser(tx: Tx, user: NewUser): Promise<void> {
  await tx.execute(sql`
    insert into users (id, email, email_is_synthetic, name)
    values (${user.id}, ${user.email}, ${user.emailIsSynthetic}, ${JSON.stringify({ en: user.name })})`);
}

/** A workspace of their own below the root, with the user as its administrator. */
export async function insertPersonalOrg(
  tx: Tx,
  org: { id: string; rootOrgId: string; name: string; userId: string },
): Promise<void> {
  await tx.execute(sql`
    insert into orgs (id, parent_id, path, name, is_personal)
    values (${org.id}, ${org.rootOrgId}, array[${org.rootOrgId}::text, ${org.id}::text],
      ${JSON.stringify({ en: org.name })}, true)`);
  await tx.execute(sql`
    insert into role_grants (org_id, user_id, role) values (${org.id}, ${org.userId}, 'admin')`);
}

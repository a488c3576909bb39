import type { Tx } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';

export interface IdentityLink {
  readonly issuer: string;
  readonly subject: string;
}

/** The live user an identity stands for. */
export async function findLinkedUser(tx: Tx, link: IdentityLink): Promise<string | null> {
  const row = await tx.maybeOne<{ id: string }>(sql`
    select u.id from user_identities i join users u on u.id = i.user_id
    where i.issuer = ${link.issuer} and i.subject = ${link.subject} and u.deleted_at is null`);
  return row?.id ?? null;
}

/** A live user with this address, held so that no identity comes to stand for them meanwhile. */
export async function holdUserByEmail(
  tx: Tx,
  email: string,
): Promise<{ id: string; isLinked: boolean } | null> {
  const user = await tx.maybeOne<{ id: string }>(sql`
    select u.id from users u where u.email = ${email} and u.deleted_at is null for update`);
  if (user === null) return null;
  // A statement of its own: one that waited for the lock would show links from before the wait.
  const { linked } = await tx.one<{ linked: boolean }>(sql`
    select exists (select from user_identities i where i.user_id = ${user.id}) as linked`);
  return { id: user.id, isLinked: linked };
}

/** False when the address was taken meanwhile. */
export async function insertJoiningUser(
  tx: Tx,
  user: { id: string; email: string; name: Record<string, string> },
): Promise<boolean> {
  const inserted = await tx.execute(sql`
    insert into users (id, email, name) values (${user.id}, ${user.email}, ${user.name})
    on conflict (email) where deleted_at is null do nothing`);
  return inserted === 1;
}

/** An identity whose user was deleted starts anew; one that stands for a live user stays theirs. */
export async function linkIdentity(tx: Tx, link: IdentityLink, userId: string): Promise<void> {
  await tx.execute(sql`
    insert into user_identities as i (issuer, subject, user_id) values (${link.issuer}, ${link.subject}, ${userId})
    on conflict (issuer, subject) do update set user_id = excluded.user_id
      where exists (select from users u where u.id = i.user_id and u.deleted_at is not null)`);
}

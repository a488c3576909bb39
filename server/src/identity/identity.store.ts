import type { Queryable, Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { builtinIssuer, type Identity } from './identity-model.ts';

/** An identity with the live user it stands for. That of a deleted user is not there, for as long as they are deleted. */
export const identityColumns = sql`
  i.id, i.email, i.email_verified as "emailVerified", i.password_hash as "passwordHash", i.name,
  i.created_at as "createdAt", i.updated_at as "updatedAt", u.id as "userId"`;
export const identityJoins = sql`
  left join user_identities l on l.issuer = ${builtinIssuer} and l.subject = i.id::text
  left join users u on u.id = l.user_id`;
export const ofLiveUserOrNobody = sql`(u.id is null or u.deleted_at is null)`;

/** INVARIANT: at most one row fits; every writer of an address holds lockAddress. */
export function findByAddress(db: Queryable, email: string): Promise<Identity | null> {
  return db.maybeOne<Identity>(sql`
    select ${identityColumns} from identity.identities i ${identityJoins}
    where i.email = ${email} and ${ofLiveUserOrNobody}
    order by u.id nulls last limit 1`);
}

export function findByUser(db: Queryable, userId: string): Promise<Identity | null> {
  return db.maybeOne<Identity>(sql`
    select ${identityColumns} from identity.identities i ${identityJoins}
    where u.id = ${userId} order by i.created_at, i.id limit 1`);
}

export function findById(db: Queryable, id: string): Promise<Identity | null> {
  return db.maybeOne<Identity>(sql`
    select ${identityColumns} from identity.identities i ${identityJoins}
    where i.id = ${id} and ${ofLiveUserOrNobody}`);
}

export async function lockAddress(tx: Tx, email: string): Promise<void> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${`lintel identity ${email}`}, 0))`);
}

export interface NewIdentity {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly passwordHash: string | null;
  readonly name: string | null;
}

export async function insertIdentity(tx: Tx, identity: NewIdentity): Promise<void> {
  await tx.execute(sql`
    insert into identity.identities (id, email, email_verified, password_hash, name)
    values (${identity.id}, ${identity.email}, ${identity.emailVerified}, ${identity.passwordHash}, ${identity.name})`);
}

export async function deleteIdentity(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`delete from identity.identities where id = ${id}`);
}

/** Also those of a deleted user. */
export async function deleteIdentitiesOf(tx: Tx, userId: string): Promise<void> {
  await tx.execute(sql`
    delete from identity.identities i using user_identities l
    where l.issuer = ${builtinIssuer} and l.subject = i.id::text and l.user_id = ${userId}`);
}

export async function updatePasswordHash(tx: Tx, id: string, passwordHash: string): Promise<void> {
  await tx.execute(sql`
    update identity.identities set password_hash = ${passwordHash}, updated_at = now() where id = ${id}`);
}

export async function updateTraitsOf(
  tx: Tx,
  userId: string,
  traits: { email?: string; name?: string },
): Promise<void> {
  await tx.execute(sql`
    update identity.identities i
    set email = coalesce(${traits.email ?? null}, i.email), name = coalesce(${traits.name ?? null}, i.name), updated_at = now()
    from user_identities l
    where l.issuer = ${builtinIssuer} and l.subject = i.id::text and l.user_id = ${userId}`);
}

/** Waits for a running password change, and makes the next one wait: no session may outlive the password it came by. */
export async function holdPasswordHash(tx: Tx, id: string): Promise<string | null> {
  const row = await tx.maybeOne<{ hash: string | null }>(sql`
    select password_hash as hash from identity.identities where id = ${id} for share`);
  return row?.hash ?? null;
}

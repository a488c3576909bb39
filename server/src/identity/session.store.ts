import type { Queryable, Tx } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { identityColumns, identityJoins, ofLiveUserOrNobody } from './identity.store.ts';
import { type ActiveSession, type AuthMethod, builtinIssuer, type Identity } from './identity-model.ts';

interface SessionRow extends Identity {
  readonly sessionId: string;
  readonly method: AuthMethod;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  readonly issuedAt: Date;
  readonly authenticatedAt: Date;
  readonly expiresAt: Date;
}

const selectActive = sql`
  select ${identityColumns}, s.id as "sessionId", s.method, s.ip_address as "ipAddress", s.user_agent as "userAgent",
    s.issued_at as "issuedAt", s.authenticated_at as "authenticatedAt", s.expires_at as "expiresAt"
  from identity.sessions s join identity.identities i on i.id = s.identity_id ${identityJoins}
  where s.revoked_at is null and s.expires_at > now() and ${ofLiveUserOrNobody}`;

function toSession(row: SessionRow): ActiveSession {
  const { sessionId, method, ipAddress, userAgent, issuedAt, authenticatedAt, expiresAt, ...identity } = row;
  return { id: sessionId, identity, method, ipAddress, userAgent, issuedAt, authenticatedAt, expiresAt };
}

export async function findSession(db: Queryable, tokenHash: Buffer): Promise<ActiveSession | null> {
  const row = await db.maybeOne<SessionRow>(sql`${selectActive} and s.token_hash = ${tokenHash}`);
  return row === null ? null : toSession(row);
}

export async function findSessionById(db: Queryable, id: string): Promise<ActiveSession | null> {
  const row = await db.maybeOne<SessionRow>(sql`${selectActive} and s.id = ${id}`);
  return row === null ? null : toSession(row);
}

export async function listSessions(db: Queryable, identityId: string): Promise<ActiveSession[]> {
  const rows = await db.query<SessionRow>(sql`
    ${selectActive} and s.identity_id = ${identityId} order by s.issued_at desc, s.id limit 250`);
  return rows.map(toSession);
}

export interface NewSession {
  readonly id: string;
  readonly identityId: string;
  readonly tokenHash: Buffer;
  readonly method: AuthMethod;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  readonly lifetimeSeconds: number;
}

export async function insertSession(tx: Tx, session: NewSession): Promise<void> {
  await tx.execute(sql`
    insert into identity.sessions (id, identity_id, token_hash, method, ip_address, user_agent, expires_at)
    values (${session.id}, ${session.identityId}, ${session.tokenHash}, ${session.method}, ${session.ipAddress},
      ${session.userAgent}, now() + make_interval(secs => ${session.lifetimeSeconds}))`);
}

/** False when it was over already, so that one end is reported once. */
export async function revokeSession(tx: Tx, id: string): Promise<boolean> {
  const count = await tx.execute(sql`
    update identity.sessions set revoked_at = now() where id = ${id} and revoked_at is null and expires_at > now()`);
  return count > 0;
}

export function revokeOtherSessions(tx: Tx, identityId: string, keptId: string | null): Promise<number> {
  return tx.execute(sql`
    update identity.sessions set revoked_at = now()
    where identity_id = ${identityId} and id is distinct from ${keptId}::uuid and revoked_at is null and expires_at > now()`);
}

export function revokeSessionsOf(tx: Tx, userId: string): Promise<number> {
  return tx.execute(sql`
    update identity.sessions s set revoked_at = now() from user_identities l
    where l.issuer = ${builtinIssuer} and l.subject = s.identity_id::text and l.user_id = ${userId}
      and s.revoked_at is null`);
}

/** Whether a token was ever a session's, over or not. */
export function isKnownToken(db: Queryable, tokenHash: Buffer): Promise<{ id: string } | null> {
  return db.maybeOne<{ id: string }>(sql`
    select s.id from identity.sessions s where s.token_hash = ${tokenHash}`);
}

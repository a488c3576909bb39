import { randomUUID } from 'node:crypto';
import type { Tx } from '../db/database.ts';
import { generateToken } from '../kernel/secret.ts';
import { hashCredential, newSessionToken } from './credentials-hash.ts';
import type { ActiveSession, AuthMethod, FlowType, IdentityDeps, IdentityRequest } from './identity-model.ts';
import { findSessionById, insertSession, revokeSession } from './session.store.ts';

export const sessionLifetimeSeconds = 30 * 86_400;
const maxUserAgentLength = 500;

export interface SignedIn {
  readonly session: ActiveSession;
  /** The value of the cookie in a browser, the session token of a native client. Seen only here. */
  readonly credential: string;
}

/** A new session, never the old one with more rights: what the client held before ends with it. */
export async function issueSession(
  deps: IdentityDeps,
  tx: Tx,
  request: IdentityRequest,
  what: { identityId: string; method: AuthMethod; type: FlowType; replaces: ActiveSession | null },
): Promise<SignedIn> {
  const id = randomUUID();
  const credential = what.type === 'browser' ? generateToken() : newSessionToken();
  await insertSession(tx, {
    id,
    identityId: what.identityId,
    tokenHash: hashCredential(deps.pepper, what.type === 'browser' ? 'cookie' : 'token', credential),
    method: what.method,
    ipAddress: request.ip,
    userAgent: request.userAgent?.slice(0, maxUserAgentLength) ?? null,
    lifetimeSeconds: sessionLifetimeSeconds,
  });
  if (what.replaces !== null) await revokeSession(tx, what.replaces.id);
  const session = await findSessionById(tx, id);
  if (session === null) throw new Error('a session that was just made is gone');
  return { session, credential };
}

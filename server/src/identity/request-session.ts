import type { Database } from '../db/database.ts';
import type { Secret } from '../kernel/secret.ts';
import { readCookies, sessionCookieName } from './cookies.ts';
import { hashCredential } from './credentials-hash.ts';
import type { ActiveSession } from './identity-model.ts';
import { findSession } from './session.store.ts';

interface Presented {
  readonly cookie: string | null;
  readonly sessionToken: string | null;
}

/** The active session behind a cookie or token; a token, when sent, is the only one looked at. */
export async function readSession(
  deps: { readonly db: Database; readonly pepper: Secret },
  { cookie, sessionToken }: Presented,
): Promise<ActiveSession | null> {
  const kind = sessionToken === null ? 'cookie' : 'token';
  const value = sessionToken ?? readCookies(cookie).get(sessionCookieName);
  if (value === undefined || value === '') return null;
  return findSession(deps.db.direct, hashCredential(deps.pepper, kind, value));
}

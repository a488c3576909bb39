import { generateToken, hmacSha256, type Secret } from '../kernel/secret.ts';

/**
 * What is stored of a credential. The kind goes into the hash, so that none can be used as another: a value read from a
 * cookie is no session token, and a sign-in code registers nobody.
 */
export type CredentialKind = 'cookie' | 'token' | 'sign_in' | 'registration' | 'logout' | 'address';

export function hashCredential(pepper: Secret, kind: CredentialKind, value: string): Buffer {
  return hmacSha256(pepper, `identity ${kind} ${value}`);
}

export const sessionTokenPrefix = 'ory_st_';

export function newSessionToken(): string {
  return `${sessionTokenPrefix}${generateToken()}`;
}

/** Derived from the session, so that it need not be stored. */
export function logoutTokenOf(pepper: Secret, sessionId: string): string {
  return `ory_lo_${hashCredential(pepper, 'logout', sessionId).toString('base64url')}`;
}

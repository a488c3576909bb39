import type { Database } from '../db/database.ts';
import type { AgentPrincipal, IdentitySession, KeyPrincipal, OrgScope, Principal } from '../kernel/call.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { createLru } from '../kernel/lru.ts';
import { hmacSha256, type Secret } from '../kernel/secret.ts';
import { isUlid } from '../kernel/ulid.ts';
import { createKeyUses } from './key-uses.ts';
import { toPrincipal } from './principal.rules.ts';
import { type CredentialRow, findCredential, findOrgScope, findUserByIdentity } from './principal.store.ts';
import { parseToken, type TokenFormat } from './token.rules.ts';

export type TokenVerdict =
  | { readonly kind: 'good'; readonly principal: KeyPrincipal | AgentPrincipal }
  /** Known but revoked, expired or orphaned: worth an audit event. */
  | { readonly kind: 'rejected'; readonly reason: string; readonly principal: KeyPrincipal | AgentPrincipal }
  | { readonly kind: 'unknown' };

export interface Credentials {
  /** The principal of a token seen before, without a look-up: null when unknown or past its expiry. */
  recall(token: string): KeyPrincipal | AgentPrincipal | null;
  verifyToken(token: string): Promise<TokenVerdict>;
  userOf(session: IdentitySession): Promise<Principal | null>;
  orgScope(orgId: string): Promise<OrgScope | null>;
  hashSecret(secret: string): Buffer;
  start(): void;
  stop(): Promise<void>;
}

export interface CredentialsDeps {
  readonly db: Database;
  readonly pepper: Secret;
  readonly tokenFormat: TokenFormat;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createCredentials({ db, pepper, tokenFormat, clock, logger }: CredentialsDeps): Credentials {
  const seen = createLru<string, KeyPrincipal | AgentPrincipal>(10_000);
  const uses = createKeyUses(db, clock, logger);
  const hashSecret = (secret: string) => hmacSha256(pepper, secret);

  function verdictOf(credential: CredentialRow, secretHash: Buffer): TokenVerdict {
    const principal = toPrincipal(credential);
    if (credential.rejected !== null) return { kind: 'rejected', reason: credential.rejected, principal };
    uses.note(principal);
    seen.set(secretHash.toString('base64'), principal);
    return { kind: 'good', principal };
  }

  return {
    hashSecret,
    recall(token) {
      const secret = parseToken(tokenFormat, token);
      const principal = secret === null ? undefined : seen.get(hashSecret(secret).toString('base64'));
      if (principal === undefined || principal.expiresAt <= clock.now()) return null;
      uses.note(principal);
      return principal;
    },
    async verifyToken(token) {
      const secret = parseToken(tokenFormat, token);
      if (secret === null) return { kind: 'unknown' };
      const secretHash = hashSecret(secret);
      const credential = await findCredential(db.direct, secretHash);
      return credential === null ? { kind: 'unknown' } : verdictOf(credential, secretHash);
    },
    async userOf(session) {
      const found = await db.asService((tx) => findUserByIdentity(tx, session.issuer, session.subject));
      if (found === null) return null;
      return { kind: 'user', userId: found.userId, grants: found.grants, sessionId: session.sessionId };
    },
    orgScope: (orgId) =>
      isUlid(orgId) ? db.asService((tx) => findOrgScope(tx, orgId)) : Promise.resolve(null),
    start: uses.start,
    stop: uses.stop,
  };
}

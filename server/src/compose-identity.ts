import { recordEvent } from './audit/audit.store.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { findPending } from './features/org-invitations/invitation-preview.ts';
import { createInvitationSecrets } from './features/org-invitations/invitation-secrets.ts';
import { identityPrefix } from './http/identity-routes.ts';
import { type Accounts, createBuiltinAccounts, createExternalAccounts } from './identity/accounts.ts';
import { type BuiltinProvider, createBuiltinProvider } from './identity/builtin-provider.ts';
import { deleteExpired } from './identity/expiry.store.ts';
import { createExternalKratos } from './identity/external-kratos.ts';
import { createPasswordHasher } from './identity/password-hash.ts';
import { createProvisioning, type Provisioning } from './identity/provisioning.ts';
import { createBuiltinSessions, type SessionProvider } from './identity/session-provider.ts';
import type { Clock } from './kernel/clock.ts';
import type { Logger } from './kernel/logger.ts';
import type { Secret } from './kernel/secret.ts';
import { createTicker, type Ticker } from './kernel/ticker.ts';

export interface IdentityParts {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pepper: Secret;
  readonly rootOrgId: string;
}

export interface ComposedIdentity extends Pick<Ticker, 'start' | 'stop'> {
  readonly sessions: SessionProvider;
  readonly accounts: Accounts;
  readonly provisioning: Provisioning;
  /** Null where an external provider signs people in. */
  readonly builtin: BuiltinProvider | null;
}

const externalTimeoutMs = 2_000;
const cleaningMs = 10 * 60_000;

export function identityBaseUrl(config: Pick<Config, 'publicUrl'>): string {
  return `${config.publicUrl}${identityPrefix}`;
}

/** Who people are: the built-in provider, or a real Ory Kratos at IDENTITY_URL. */
export function composeIdentity(parts: IdentityParts): ComposedIdentity {
  const { config, db, rootOrgId } = parts;
  const { identityUrl, selfSignup } = config;
  const shared = { db, rootOrgId, recordEvent };
  const provisioning = createProvisioning({ ...shared, selfSignup });
  const cleaning = createCleaning(parts);
  if (identityUrl !== null) {
    const sessions = createExternalKratos({ ...shared, identityUrl, timeoutMs: externalTimeoutMs });
    return { sessions, accounts: createExternalAccounts(), provisioning, builtin: null, ...cleaning };
  }
  const baseUrl = identityBaseUrl(config);
  const passwords = createPasswordHasher();
  const { pepper, clock } = parts;
  const secrets = createInvitationSecrets(pepper);
  const builtin = createBuiltinProvider({
    ...shared,
    ...{ clock, pepper, passwords, baseUrl, publicUrl: config.publicUrl },
    findInvitation: (tx, token) => findPending({ secrets, clock }, tx, token),
  });
  const sessions = createBuiltinSessions({ ...shared, pepper, baseUrl });
  return { sessions, accounts: createBuiltinAccounts(passwords), provisioning, builtin, ...cleaning };
}

/** Attempts, flows and sessions that are over go, on whichever node comes first. */
function createCleaning({ db, logger }: IdentityParts): Ticker {
  const trouble = 'expired sign-in records could not be removed';
  return createTicker({ everyMs: cleaningMs, work: () => deleteExpired(db.direct), logger, trouble });
}

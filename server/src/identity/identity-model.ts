import type { recordEvent } from '../audit/audit.store.ts';
import type { Database, Tx } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Secret } from '../kernel/secret.ts';
import type { PasswordHasher } from './password-hash.ts';

/** The issuer of identities of the built-in provider; an external one is named by its address. */
export const builtinIssuer = 'builtin';

export interface Identity {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly passwordHash: string | null;
  readonly name: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** The live user it stands for; null before an invitation is redeemed. */
  readonly userId: string | null;
}

/** Names of Ory Kratos: a one-time link counts as recovery there. */
export type AuthMethod = 'password' | 'link_recovery';

export interface ActiveSession {
  readonly id: string;
  readonly identity: Identity;
  readonly method: AuthMethod;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  readonly issuedAt: Date;
  readonly authenticatedAt: Date;
  readonly expiresAt: Date;
}

export type FlowKind = 'login' | 'registration' | 'settings';
export type FlowType = 'browser' | 'api';

export interface UiMessage {
  readonly id: number;
  readonly text: string;
  readonly type: 'error' | 'success';
  readonly context?: Readonly<Record<string, unknown>>;
  /** The form field it belongs to; about the whole form without one. */
  readonly node?: string;
}

export interface Flow {
  readonly id: string;
  readonly kind: FlowKind;
  readonly type: FlowType;
  readonly csrfHash: Buffer | null;
  readonly requestUrl: string;
  readonly returnTo: string | null;
  readonly refresh: boolean;
  readonly identityId: string | null;
  readonly messages: readonly UiMessage[];
  readonly identifier: string | null;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  readonly completedAt: Date | null;
}

/** What a request brings along, without HTTP. */
export interface IdentityRequest {
  readonly correlationId: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** Absolute, as seen by the browser. */
  readonly url: string;
  readonly cookie: string | null;
  readonly sessionToken: string | null;
  /** A browser sends Origin with every POST; a native client has none. */
  readonly origin: string | null;
}

/** Who may register with a token that came by an organization's invitation. */
export type FindInvitation = (tx: Tx, token: string) => Promise<{ orgId: string; email: string } | null>;

export interface IdentityDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly pepper: Secret;
  readonly rootOrgId: string;
  /** Origin of the service. */
  readonly publicUrl: string;
  /** Where the provider's own paths begin: what Kratos calls its public base URL. */
  readonly baseUrl: string;
  readonly passwords: PasswordHasher;
  readonly recordEvent: typeof recordEvent;
  readonly findInvitation: FindInvitation;
}

import type { AuditOrigin, recordEvent } from '../audit/audit.store.ts';
import type { Database } from '../db/database.ts';
import type { IdentitySession } from '../kernel/call.ts';
import type { Secret } from '../kernel/secret.ts';
import { builtinIssuer } from './identity-model.ts';
import { toKratosSession } from './kratos-session.ts';
import { readSession } from './request-session.ts';
import { revokeSession } from './session.store.ts';
import { homeOrgOf } from './user-link.store.ts';

/** What a request shows to the identity provider. */
export interface SessionCredential {
  readonly cookie: string | null;
  readonly sessionToken: string | null;
}

/** Who asks for the end of a session. */
export interface EndingCall {
  readonly origin: AuditOrigin;
  readonly userId: string | null;
}

/** The identity provider as the service uses it: its own, or a real Ory Kratos elsewhere. */
export interface SessionProvider {
  read(credential: SessionCredential): Promise<IdentitySession | null>;
  /** Ends a session and writes the event; returns the Set-Cookie lines the provider itself wants to send. */
  end(session: IdentitySession, credential: SessionCredential, call: EndingCall): Promise<string[]>;
}

export interface SessionProviderDeps {
  readonly db: Database;
  readonly rootOrgId: string;
  readonly recordEvent: typeof recordEvent;
}

export interface BuiltinSessionsDeps extends SessionProviderDeps {
  readonly pepper: Secret;
  readonly baseUrl: string;
}

/** Straight from the tables: no request of the service to itself. */
export function createBuiltinSessions(deps: BuiltinSessionsDeps): SessionProvider {
  return {
    async read(credential) {
      const session = await readSession(deps, credential);
      if (session === null) return null;
      return {
        issuer: builtinIssuer,
        subject: session.identity.id,
        sessionId: session.id,
        email: session.identity.email,
        name: session.identity.name,
        record: toKratosSession(session, deps.baseUrl),
      };
    },
    async end(session, _credential, call) {
      // Across organizations: which one gets the event follows from the person's roles.
      await deps.db.asService(async (tx) => {
        if (await revokeSession(tx, session.sessionId)) await recordLogout(deps, tx, session, call);
      });
      return [];
    },
  };
}

export async function recordLogout(
  deps: SessionProviderDeps,
  tx: Parameters<typeof recordEvent>[0],
  session: IdentitySession,
  { origin, userId }: EndingCall,
): Promise<void> {
  await deps.recordEvent(tx, origin, {
    orgId: await homeOrgOf(tx, userId, deps.rootOrgId),
    type: 'identity.logged_out',
    ...(userId === null ? {} : { resource: { type: 'user', id: userId } }),
    details: { session_id: session.sessionId, issuer: session.issuer },
  });
}

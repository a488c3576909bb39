import type { recordEvent } from '../audit/audit.store.ts';
import type { Database, Tx } from '../db/database.ts';
import { type IdentitySession, systemActor } from '../kernel/call.ts';
import { cleanText } from '../kernel/text.ts';
import { ulid } from '../kernel/ulid.ts';
import { builtinIssuer } from './identity-model.ts';
import { hasVerifiedEmail } from './kratos-record.rules.ts';
import {
  holdLiveUserByEmail,
  homeOrgOf,
  insertPersonalOrg,
  insertUser,
  linkedUserOf,
  linkIdentity,
  lockIdentityLink,
} from './user-link.store.ts';

export interface ProvisioningDeps {
  readonly db: Database;
  readonly rootOrgId: string;
  /** Whether a signed-in stranger of an external provider gets a personal organization. */
  readonly selfSignup: boolean;
  readonly recordEvent: typeof recordEvent;
}

export interface Provisioning {
  /** For a session that stands for nobody: whether it does now. */
  provision(session: IdentitySession, correlationId: string): Promise<boolean>;
}

export function createProvisioning(deps: ProvisioningDeps): Provisioning {
  return {
    async provision(session, correlationId) {
      // Identities of the built-in provider are linked where they are made.
      if (session.issuer === builtinIssuer) return false;
      if (!deps.selfSignup && !hasVerifiedEmail(session)) return false;
      // Across organizations: a stranger belongs to none yet.
      return deps.db.asService((tx) => provisionStranger(deps, tx, session, correlationId));
    },
  };
}

async function provisionStranger(
  deps: ProvisioningDeps,
  tx: Tx,
  session: IdentitySession,
  correlationId: string,
): Promise<boolean> {
  await lockIdentityLink(tx, session.issuer, session.subject);
  // Linked means: by a request beside this one, or to a user who was deleted and stays so.
  if ((await linkedUserOf(tx, session.issuer, session.subject)) !== null) return true;
  const verified = session.email !== null && hasVerifiedEmail(session) ? session.email : null;
  const known = verified === null ? null : await holdLiveUserByEmail(tx, verified, session.issuer);
  if (known !== null) {
    if (known.isLinked) return false;
    await linkIdentity(tx, session.issuer, session.subject, known.id);
    const orgId = await homeOrgOf(tx, known.id, deps.rootOrgId);
    await record(deps, tx, { session, correlationId, userId: known.id, orgId, how: 'linked' });
    return true;
  }
  if (!deps.selfSignup) return false;
  await signUp(deps, tx, session, verified, correlationId);
  return true;
}

/** An address nobody verified is not stored: administrators find people by it. */
async function signUp(
  deps: ProvisioningDeps,
  tx: Tx,
  session: IdentitySession,
  verified: string | null,
  correlationId: string,
): Promise<void> {
  const { rootOrgId } = deps;
  const [userId, orgId] = [ulid(), ulid()];
  const name = displayName(session);
  const email = verified ?? `${userId.toLowerCase()}@users.invalid`;
  await insertUser(tx, { id: userId, email, emailIsSynthetic: verified === null, name });
  await insertPersonalOrg(tx, { id: orgId, rootOrgId, name, userId });
  await linkIdentity(tx, session.issuer, session.subject, userId);
  await record(deps, tx, { session, correlationId, userId, orgId, how: 'signed_up' });
}

async function record(
  deps: ProvisioningDeps,
  tx: Tx,
  what: { session: IdentitySession; correlationId: string; userId: string; orgId: string; how: string },
): Promise<void> {
  const { session, correlationId, userId, orgId, how } = what;
  const origin = {
    actor: { ...systemActor, kind: 'user', userId },
    source: 'dashboard',
    correlationId,
  } as const;
  await deps.recordEvent(tx, origin, {
    orgId,
    type: 'user.provisioned',
    resource: { type: 'user', id: userId },
    details: { how, issuer: session.issuer },
  });
}

/** The person's name, else the part of the address before the @. */
function displayName(session: IdentitySession): string {
  const candidates = [session.name, session.email?.split('@')[0] ?? null];
  for (const candidate of candidates) {
    const name = candidate === null ? null : cleanText(candidate, { maxLength: 120 });
    if (name?.ok) return name.text;
  }
  return 'New person';
}

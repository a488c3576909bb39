import { isRole, type Role } from '@lintel/contract/roles';
import { AppError, invalid } from '../../kernel/app-error.ts';
import { entityLimit, hasRole, type OrgScope, type Principal } from '../../kernel/call.ts';
import { parseInstant } from '../../kernel/clock.ts';
import { parseDurationSeconds } from '../../kernel/duration.ts';

interface ExpiryInput {
  readonly expires_at?: string | null;
  readonly expires_in?: string | null;
}

const maxLifetimeMs = 3650 * 86_400_000;

/** expires_at or expires_in, not both; null when neither is given. */
export function expiryOf(input: ExpiryInput, now: Date): Date | null {
  const at = input.expires_at ?? null;
  const duration = input.expires_in ?? null;
  if (at !== null && duration !== null) throw invalid('/expires_in', 'excludes expires_at');
  if (at !== null) return futureInstant(at, now);
  if (duration === null) return null;
  const parsed = parseDurationSeconds(duration);
  if (!parsed.ok) throw invalid('/expires_in', parsed.reason);
  return new Date(now.getTime() + parsed.seconds * 1000);
}

function futureInstant(text: string, now: Date): Date {
  const instant = parseInstant(text);
  if (instant === null) throw invalid('/expires_at', 'is not an RFC 3339 instant');
  if (instant <= now) throw invalid('/expires_at', 'is in the past');
  if (instant.getTime() - now.getTime() > maxLifetimeMs)
    throw invalid('/expires_at', 'is more than 3650 days away');
  return instant;
}

export function requiredExpiry(input: ExpiryInput, now: Date): Date {
  const expiry = expiryOf(input, now);
  if (expiry === null) throw invalid('/expires_at', 'is required (or expires_in)');
  return expiry;
}

/** A key never holds more than the principal that makes it: neither roles nor entities. */
export function grantableScope(
  principal: Principal,
  org: OrgScope,
  requested: { roles: readonly string[] | null; entityIds: readonly string[] | null },
): { roles: Role[] | null; entityIds: string[] | null } {
  return {
    roles: grantableRoles(principal, org, requested.roles),
    entityIds: grantableEntities(principal, requested.entityIds),
  };
}

function grantableRoles(
  principal: Principal,
  org: OrgScope,
  requested: readonly string[] | null,
): Role[] | null {
  if (requested === null) {
    // A scoped key has no way to say "all my creator's roles" without growing beyond itself.
    return principal.kind === 'user' ? null : principal.grants.map((grant) => grant.role);
  }
  return requested.map((role, index) => {
    if (!isRole(role)) throw invalid(`/scoped_roles/${index}`, 'is not a role');
    if (!hasRole(principal, org, role)) throw new AppError('forbidden', `you can not give the role ${role}`);
    return role;
  });
}

function grantableEntities(principal: Principal, requested: readonly string[] | null): string[] | null {
  const limit = entityLimit(principal);
  if (limit === null) return requested === null ? null : [...requested];
  if (requested === null) return [...limit];
  const outside = requested.find((id) => !limit.includes(id));
  if (outside !== undefined)
    throw new AppError('forbidden', 'you can not give entities you are not allowed yourself');
  return [...requested];
}

export type RestoreVerdict = 'ok' | 'key_not_revoked' | 'key_expired';

export function judgeRestore(key: { revokedAt: Date | null; expiresAt: Date }, now: Date): RestoreVerdict {
  if (key.revokedAt === null) return 'key_not_revoked';
  return key.expiresAt <= now ? 'key_expired' : 'ok';
}

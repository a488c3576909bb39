import { isRole, type Role } from '@lintel/contract/roles';
import { AppError, invalid } from '../../kernel/app-error.ts';
import { entityLimit, hasRole, type OrgScope, type Principal } from '../../kernel/call.ts';

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

/** Else a key that was lost could live for ever: by itself, or two of them by each other. */
export function requireMayProlong(principal: Principal, org: OrgScope, keyId: string): void {
  if (principal.kind === 'user') return;
  if (principal.keyId !== keyId && hasRole(principal, org, 'admin')) return;
  throw new AppError(
    'forbidden',
    'a key can not prolong itself: sign in, or use another key of an administrator',
  );
}

export type RestoreVerdict = 'ok' | 'key_not_revoked' | 'key_expired' | 'agent_revoked';

interface Life {
  readonly revokedAt: Date | null;
}

export function judgeRestore(key: Life & { expiresAt: Date }, agent: Life | null, now: Date): RestoreVerdict {
  if (key.revokedAt === null) return 'key_not_revoked';
  // A revoked agent stays revoked, so no credential of it may look alive again.
  if (agent !== null && agent.revokedAt !== null) return 'agent_revoked';
  return key.expiresAt <= now ? 'key_expired' : 'ok';
}

import { isRole, type Role } from '@lintel/contract/roles';
import { AppError, invalid } from '../kernel/app-error.ts';
import { hasRole, type OrgScope, type Principal } from '../kernel/call.ts';

export type OrgPosition = Pick<OrgScope, 'id' | 'path'>;

/** Known roles, each once. `path` is where they stand in the request. */
export function parseRoles(names: readonly string[], path: string): Role[] {
  const roles = names.map((name, index) => {
    if (!isRole(name)) throw invalid(`${path}/${index}`, 'is not a role');
    return name;
  });
  return [...new Set(roles)];
}

/** Why a principal may not give these roles there; null when they may. Nobody gives what they do not hold. */
export function refusedGrant(granter: Principal, org: OrgPosition, roles: readonly Role[]): string | null {
  if (!hasRole(granter, org, 'users:create')) return 'this needs the role users:create';
  const missing = roles.find((role) => !hasRole(granter, org, role));
  return missing === undefined ? null : `you can not give the role ${missing}`;
}

export function requireGrantable(granter: Principal, org: OrgPosition, roles: readonly Role[]): void {
  const refusal = refusedGrant(granter, org, roles);
  if (refusal !== null) throw new AppError('forbidden', refusal);
}

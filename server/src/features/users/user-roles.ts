import { type OrgPosition, requireGrantable } from '../../auth/role-grants.rules.ts';
import { deleteGrants, holdOrgPositions, insertGrants } from '../../auth/role-grants.store.ts';
import type { Tx } from '../../db/database.ts';
import { AppError, invalid } from '../../kernel/app-error.ts';
import { type Call, hasRole, type OrgScope, type Principal, principalOf } from '../../kernel/call.ts';
import { changeUser, requireOtherRootAdmin, type UsersDeps } from './user-change.ts';
import { grantsIn, parseRoleMap, type RoleMap } from './users.rules.ts';
import type { User } from './users.store.ts';

type RoleMapInput = Readonly<Record<string, string[]>>;

export function addRoles(
  deps: UsersDeps,
  call: Call,
  org: OrgScope,
  id: string,
  input: RoleMapInput,
): Promise<User> {
  const roles = requestedRoles(call, org, input);
  return changeUser(deps, call, org, id, {
    type: 'user.roles_added',
    work: async ({ tx, principal }) => {
      await requireGrantableMap(tx, principal, roles);
      await insertGrants(tx, id, grantsIn(roles), principal.userId);
      return { roles: Object.fromEntries(roles) };
    },
  });
}

export function removeRoles(
  deps: UsersDeps,
  call: Call,
  org: OrgScope,
  id: string,
  input: RoleMapInput,
): Promise<User> {
  const roles = requestedRoles(call, org, input);
  return changeUser(deps, call, org, id, {
    type: 'user.roles_removed',
    work: async (change) => {
      const { tx, principal } = change;
      await requireRemovableMap(tx, principal, roles);
      if (roles.get(deps.rootOrgId)?.includes('admin')) await requireOtherRootAdmin(change, deps.rootOrgId);
      await deleteGrants(tx, id, grantsIn(roles));
      return { roles: Object.fromEntries(roles) };
    },
  });
}

function requestedRoles(call: Call, org: OrgScope, input: RoleMapInput): RoleMap {
  const roles = parseRoleMap(input, org.id);
  if (roles.size === 0) throw invalid('/', 'must name at least one organization');
  const principal = principalOf(call);
  // The answer shows the person; membership alone does not entitle to see them.
  if (!hasRole(principal, org, 'users:create') && !hasRole(principal, org, 'users:read')) {
    throw new AppError('forbidden', 'this needs the role users:create');
  }
  return roles;
}

export async function requireGrantableMap(tx: Tx, principal: Principal, roles: RoleMap): Promise<void> {
  for (const org of await requireOrgs(tx, principal, roles)) {
    requireGrantable(principal, org, roles.get(org.id) ?? []);
  }
}

async function requireRemovableMap(tx: Tx, principal: Principal, roles: RoleMap): Promise<void> {
  for (const org of await requireOrgs(tx, principal, roles)) {
    if (roles.get(org.id)?.includes('admin') && !hasRole(principal, org, 'admin')) {
      throw new AppError('forbidden', 'only an administrator may take the role admin away');
    }
  }
}

/** One refusal for an absent, a deleted and a foreign organization: it tells nothing about which it is. */
async function requireOrgs(tx: Tx, principal: Principal, roles: RoleMap): Promise<OrgPosition[]> {
  const orgs = await holdOrgPositions(tx, [...roles.keys()]);
  const manageable = orgs.filter((org) => hasRole(principal, org, 'users:create'));
  if (manageable.length < roles.size) {
    throw new AppError('forbidden', 'this needs users:create in every organization named');
  }
  return manageable;
}

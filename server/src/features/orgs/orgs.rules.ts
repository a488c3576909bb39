import { hasRole, isMember, type Principal } from '../../kernel/call.ts';
import { canonicalJson } from '../../kernel/canonical-json.ts';
import type { Org, RolesByUser, Sight } from './orgs.store.ts';

export const maxDepth = 16;

/** INVARIANT: an organization is in sight exactly when `isMember` says so; this form of the rule is one SQL can use. */
export function sightOf(principal: Principal): Sight {
  const orgsOf = (grants: Principal['grants']) => [...new Set(grants.map((grant) => grant.orgId))];
  const administered = principal.grants.filter((grant) => grant.role === 'admin');
  return {
    memberOf: orgsOf(principal.grants),
    adminOf: principal.kind === 'agent' ? [] : orgsOf(administered),
  };
}

type OrgPosition = Pick<Org, 'id' | 'path'>;

/** An agent may list no users (its operations are a closed list), so it does not get them by this door either. */
export function mayListUsers(principal: Principal, org: OrgPosition): boolean {
  return principal.kind !== 'agent' && hasRole(principal, org, 'users:list');
}

/** What the caller holds in this very organization: for keys and agents already cut to their scope. */
export function ownRoles(principal: Principal, org: OrgPosition): RolesByUser {
  const roles = principal.grants.filter((grant) => grant.orgId === org.id).map((grant) => grant.role);
  return roles.length === 0 ? {} : { [principal.userId]: roles.toSorted() };
}

export type PlacementRefusal = 'not_found' | 'forbidden' | 'personal' | 'cycle' | 'too_deep';
export type Placement =
  | { readonly ok: true; readonly parent: Org }
  | { readonly ok: false; readonly reason: PlacementRefusal };

/** Whether the caller may put a subtree of this height below the parent; a new organization has no root id yet. */
export function judgePlacement(
  principal: Principal,
  parent: Org | null,
  subtree: { readonly rootId: string | null; readonly height: number },
): Placement {
  const refuse = (reason: PlacementRefusal): Placement => ({ ok: false, reason });
  if (parent === null || parent.deletedAt !== null || !isMember(principal, parent))
    return refuse('not_found');
  if (!hasRole(principal, parent, 'admin')) return refuse('forbidden');
  if (subtree.rootId !== null && parent.path.includes(subtree.rootId)) return refuse('cycle');
  if (parent.isPersonal) return refuse('personal');
  return parent.path.length + subtree.height > maxDepth ? refuse('too_deep') : { ok: true, parent };
}

type Described = Pick<Org, 'name' | 'description'>;

export function changedFields(before: Described, after: Described): string[] {
  const fields = ['name', 'description'] as const;
  return fields.filter((field) => canonicalJson(before[field]) !== canonicalJson(after[field]));
}

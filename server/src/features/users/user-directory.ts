import { AppError } from '../../kernel/app-error.ts';
import { hasRole, type OrgScope, type Principal, requireRole } from '../../kernel/call.ts';
import type { UsersDeps } from './user-change.ts';
import { parseIdList, parseSearchText, type Reach, reachOf } from './users.rules.ts';
import { listUsers, type PageRequest, type User, type UserFilter } from './users.store.ts';

export interface SearchUsersInput extends PageRequest {
  readonly q?: string;
  readonly orgId?: string;
  readonly everyone: boolean;
  readonly excludeIds?: string;
}

export interface ListUsersInput extends PageRequest {
  readonly recursive: boolean;
  readonly deleted: UserFilter['deleted'];
}

type UserPage = { items: User[]; total: number };

export async function searchUsers(
  deps: UsersDeps,
  principal: Principal,
  org: OrgScope,
  input: SearchUsersInput,
): Promise<UserPage> {
  const filter: UserFilter = {
    text: parseSearchText(input.q ?? ''),
    excludeIds: parseIdList(input.excludeIds ?? ''),
    deleted: 'hidden',
    withinOrgId: input.everyone ? (input.orgId ?? null) : null,
  };
  const reach = input.everyone
    ? reachOfAll(deps, principal)
    : await reachOfSearch(deps, principal, org, input.orgId);
  // As the service: the reach of an administrator is a subtree, which may be too long to list as a scope.
  return deps.db.asService((tx) => listUsers(tx, reach, filter, input));
}

function reachOfAll(deps: UsersDeps, principal: Principal): Reach {
  requireRole(principal, { id: deps.rootOrgId, path: [deps.rootOrgId] }, 'users:list');
  return { kind: 'everyone' };
}

async function reachOfSearch(
  deps: UsersDeps,
  principal: Principal,
  own: OrgScope,
  wantedId: string | undefined,
): Promise<Reach> {
  const org = wantedId === undefined || wantedId === own.id ? own : await deps.orgScope(wantedId);
  // One refusal for an absent and a foreign organization.
  if (org === null || org.deletedAt !== null || !hasRole(principal, org, 'users:list')) {
    throw new AppError('forbidden', 'this needs the role users:list in the organization named');
  }
  return reachOf(principal, org, deps.rootOrgId);
}

export function findOrgUsers(
  deps: UsersDeps,
  principal: Principal,
  org: OrgScope,
  input: ListUsersInput,
): Promise<UserPage> {
  if (input.recursive) requireRole(principal, org, 'admin');
  const filter = { text: null, excludeIds: [], deleted: input.deleted, withinOrgId: null };
  const reach: Reach = { kind: input.recursive ? 'subtree' : 'org', orgId: org.id };
  return deps.db.asService((tx) => listUsers(tx, reach, filter, input));
}

import type { OperationId } from '@lintel/contract/operations';
import { operationById } from '@lintel/contract/operations';
import type { Role } from '@lintel/contract/roles';
import type { ScriptKind } from '@lintel/contract/scripting';
import type { Database } from '../../db/database.ts';
import { type AppError, invalid } from '../../kernel/app-error.ts';
import { hasRole, isMember, type OrgScope, type Principal } from '../../kernel/call.ts';
import type { Fields } from './script-fields.ts';
import { findHome, type Home, type OrgPosition, orgsOfUser } from './scripting.store.ts';

export interface OrgDeps {
  readonly db: Database;
  readonly rootOrgId: string;
  readonly orgScope: (orgId: string) => Promise<OrgScope | null>;
}

type HomedKind = Exclude<ScriptKind, 'user'>;

/** As the service: where a record belongs is what is asked. Whoever has no role there is told nothing. */
export const homeOf = ({ db }: OrgDeps, kind: HomedKind, id: string): Promise<Home | null> =>
  db.asService((tx) => findHome(tx, kind, id));

/** One wording for what is absent and what is somebody else's. */
export const foreignParent = (member: string, kind: ScriptKind): AppError =>
  invalid(`/${member}`, `is not ${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind} of this organization`);

export function roleOf(id: OperationId): Role | null {
  const { role } = operationById(id);
  return typeof role === 'object' || role === 'member' ? null : role;
}

const administers = (principal: Principal, orgId: string): boolean =>
  principal.grants.some((grant) => grant.role === 'admin' && grant.orgId === orgId);

/** The widest view of people that a caller has from there: the topmost organization above that they administer. */
const widest = (principal: Principal, org: OrgPosition): string =>
  org.path.find((id) => administers(principal, id)) ?? org.id;

/** A user belongs to no single organization: one in which the caller may do it, else one where they are refused. */
export async function orgOfUser(
  deps: OrgDeps,
  principal: Principal,
  userId: string,
  operation: OperationId,
): Promise<string | null> {
  if (administers(principal, deps.rootOrgId)) return deps.rootOrgId;
  // As the service: the user's organizations may be anywhere.
  const found = await deps.db.asService((tx) => orgsOfUser(tx, userId));
  const seen = found.filter((org) => isMember(principal, org));
  const role = roleOf(operation);
  const best = seen.find((org) => role === null || hasRole(principal, org, role)) ?? seen[0];
  return best === undefined ? null : widest(principal, best);
}

/** Where a new user is made: in the first organization they get a role in. */
export async function orgOfNewUser(
  deps: OrgDeps,
  principal: Principal,
  own: OrgScope,
  roles: Fields,
): Promise<string> {
  const [first] = Object.keys(roles);
  if (first === undefined) return administers(principal, deps.rootOrgId) ? deps.rootOrgId : own.id;
  const org = await deps.orgScope(first);
  return org === null ? first : widest(principal, org);
}

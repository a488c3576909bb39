import type { Role } from '@lintel/contract/roles';
import { type OrgPosition, parseRoles } from '../../auth/role-grants.rules.ts';
import { AppError, invalid } from '../../kernel/app-error.ts';
import { hasRole, type Principal, type RoleGrant } from '../../kernel/call.ts';
import { normalizeEmail } from '../../kernel/email.ts';
import { cleanText, parseLocalizedText } from '../../kernel/text.ts';
import { isUlid } from '../../kernel/ulid.ts';

/** Whom a caller can see through an organization, and whose roles where. */
export type Reach =
  | { readonly kind: 'org'; readonly orgId: string }
  | { readonly kind: 'subtree'; readonly orgId: string }
  /** People without any role are seen by nobody else. */
  | { readonly kind: 'everyone' };

export function reachOf(principal: Principal, org: OrgPosition, rootOrgId: string): Reach {
  if (!hasRole(principal, org, 'admin')) return { kind: 'org', orgId: org.id };
  return org.id === rootOrgId ? { kind: 'everyone' } : { kind: 'subtree', orgId: org.id };
}

export function isInReach(reach: Reach, user: { roles: Readonly<Record<string, unknown>> }): boolean {
  return reach.kind === 'everyone' || Object.keys(user.roles).length > 0;
}

/** Each with its descendants. */
export function administeredOrgIds(principal: Principal): string[] {
  return principal.grants.filter((grant) => grant.role === 'admin').map((grant) => grant.orgId);
}

export type RoleMap = ReadonlyMap<string, readonly Role[]>;

const maxOrgs = 100;

/** organization → roles. The key `roles` is what an older client library sends for the organization of the request. */
export function parseRoleMap(input: Readonly<Record<string, string[]>>, ownOrgId: string): RoleMap {
  const entries = Object.entries(input);
  if (entries.length > maxOrgs) throw invalid('/', `must not name more than ${maxOrgs} organizations`);
  const map = new Map<string, Role[]>();
  for (const [key, names] of entries) {
    const orgId = key === 'roles' ? ownOrgId : key;
    if (!isUlid(orgId)) throw invalid(`/${key}`, 'is not an organization id');
    if (names.length === 0) throw invalid(`/${key}`, 'must name at least one role');
    const roles = parseRoles(names, `/${key}`);
    map.set(orgId, [...new Set([...(map.get(orgId) ?? []), ...roles])]);
  }
  return map;
}

export function grantsIn(map: RoleMap): RoleGrant[] {
  return [...map].flatMap(([orgId, roles]) => roles.map((role) => ({ orgId, role })));
}

const syntheticDomain = 'phone.lintel.local';

/** People known by phone only still need the unique address that everything else relies on. */
export function syntheticEmail(userId: string): string {
  return `${userId}@${syntheticDomain}`;
}

export function parseEmail(text: string): string {
  const email = normalizeEmail(text);
  if (email === null) throw invalid('/email', 'is not an email address');
  if (email.endsWith(`@${syntheticDomain}`)) throw invalid('/email', 'is reserved for people without one');
  return email;
}

export function parseUserName(input: unknown, defaultLocale: string): Record<string, string> {
  const name = parseLocalizedText(input, { defaultLocale, maxLength: 120 });
  if (!name.ok) throw invalid(`/name${name.path}`, name.reason);
  return name.value;
}

/** Null when there is nothing to look for. */
export function parseSearchText(input: string): string | null {
  if (input.trim() === '') return null;
  const text = cleanText(input, { maxLength: 200 });
  if (!text.ok) throw invalid('/q', text.reason);
  return text.text;
}

/** Malformed ids exclude nobody. */
export function parseIdList(input: string): string[] {
  return input
    .split(',')
    .map((id) => id.trim())
    .filter(isUlid);
}

/** Whoever may manage users without being an administrator must not get hold of an administrator's account. */
export function requireNotAboveCaller(
  principal: Principal,
  org: OrgPosition,
  user: { roles: Readonly<Record<string, readonly Role[]>> },
): void {
  const isAdmin = user.roles[org.id]?.includes('admin') ?? false;
  if (isAdmin && !hasRole(principal, org, 'admin')) {
    throw new AppError('forbidden', 'only an administrator may do this to an administrator');
  }
}

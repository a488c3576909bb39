import type { ActorKind, AuditSource } from '@lintel/contract/events';
import { isBuildingRole, type Role } from '@lintel/contract/roles';
import { AppError } from './app-error.ts';
import type { Secret } from './secret.ts';

/** An organization a request works in, with what is needed to know the caller's rights there. */
export interface OrgScope {
  readonly id: string;
  /** From the root to this organization, itself included. */
  readonly path: readonly string[];
  readonly epoch: number;
  readonly timezone: string | null;
  readonly defaultLocale: string;
  readonly deletedAt: Date | null;
}

export interface RoleGrant {
  readonly orgId: string;
  readonly role: Role;
}

interface PrincipalBase {
  readonly userId: string;
  /** What the principal may do now: a user's own grants; for keys and agents already cut to their scope. */
  readonly grants: readonly RoleGrant[];
}

export interface UserPrincipal extends PrincipalBase {
  readonly kind: 'user';
  readonly sessionId: string;
}

export interface KeyPrincipal extends PrincipalBase {
  readonly kind: 'api_key';
  readonly keyId: string;
  readonly org: OrgScope;
  readonly expiresAt: Date;
  readonly scopedEntityIds: readonly string[] | null;
}

export interface AgentPrincipal extends PrincipalBase {
  readonly kind: 'agent';
  readonly agentId: string;
  readonly keyId: string;
  readonly org: OrgScope;
  readonly expiresAt: Date;
  /** Those of its portals too. */
  readonly allowedEntityIds: readonly string[];
  readonly confirmationMode: 'policy' | 'always' | 'human';
}

export type Principal = UserPrincipal | KeyPrincipal | AgentPrincipal;

/** A browser or native session at the identity provider; it may not belong to a user of this service yet. */
export interface IdentitySession {
  readonly issuer: string;
  readonly subject: string;
  readonly sessionId: string;
  readonly email: string | null;
  readonly name: string | null;
  /** The provider's own session record, passed on as it is. */
  readonly record: Record<string, unknown>;
}

/** What a request showed to the identity provider, kept for signing out. */
export interface SessionCredential {
  readonly cookie: Secret | null;
  readonly sessionToken: Secret | null;
}

/** Everything about one request that services need and HTTP does not own. */
export interface Call {
  readonly correlationId: string;
  readonly source: AuditSource;
  readonly principal: Principal | null;
  /** Whom the log names; the principal unless given. */
  readonly actor?: Actor;
  /** The principal came from memory and is verified in the commit; before it, no refusal may rest on it. */
  readonly recalled?: boolean;
  readonly session: IdentitySession | null;
  /** Absent where no HTTP request made the call. */
  readonly sessionCredential?: SessionCredential;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly idempotencyKey: string | null;
  readonly confirmation: string | null;
  /** Whether nobody waits for the answer any more; absent where that can not be known. */
  readonly isGone?: () => boolean;
  /** The same request with the rights its caller has by now: for work of many steps. Throws when they have none left. */
  readonly renewed?: () => Promise<Call>;
}

export interface Actor {
  readonly kind: ActorKind;
  readonly userId: string | null;
  readonly agentId: string | null;
  readonly apiKeyId: string | null;
  readonly guestId: string | null;
}

export const systemActor: Actor = {
  kind: 'system',
  userId: null,
  agentId: null,
  apiKeyId: null,
  guestId: null,
};

export function actorOf(principal: Principal | null): Actor {
  if (principal === null) return systemActor;
  const base = { ...systemActor, kind: principal.kind, userId: principal.userId };
  if (principal.kind === 'user') return base;
  const withKey = { ...base, apiKeyId: principal.keyId };
  return principal.kind === 'agent' ? { ...withKey, agentId: principal.agentId } : withKey;
}

/** The service itself at work: it may what an administrator of the platform may, and the log names it as the system. */
export function systemCall(
  rootOrgId: string,
  correlationId: string,
): { readonly call: Call; readonly principal: Principal } {
  const principal: UserPrincipal = {
    kind: 'user',
    userId: '',
    sessionId: '',
    grants: [{ orgId: rootOrgId, role: 'admin' }],
  };
  const call: Call = {
    ...{ correlationId, source: 'system', principal, actor: systemActor, session: null },
    ...{ ip: null, userAgent: null, idempotencyKey: null, confirmation: null },
  };
  return { call, principal };
}

/** The identity that idempotency keys, proofs and limits are bound to. */
export function principalId(principal: Principal): string {
  if (principal.kind === 'user') return principal.userId;
  return principal.kind === 'agent' ? principal.agentId : principal.keyId;
}

type OrgPosition = Pick<OrgScope, 'id' | 'path'>;

/** Roles hold in their own organization; admin also counts in every descendant. An agent stays in its own. */
export function rolesIn(principal: Principal, org: OrgPosition): ReadonlySet<Role> {
  const roles = new Set<Role>();
  for (const grant of principal.grants) {
    if (grant.orgId === org.id) roles.add(grant.role);
    else if (grant.role === 'admin' && principal.kind !== 'agent' && org.path.includes(grant.orgId))
      roles.add('admin');
  }
  return roles;
}

export function hasRole(principal: Principal, org: OrgPosition, role: Role): boolean {
  const roles = rolesIn(principal, org);
  return roles.has('admin') || roles.has(role);
}

export function hasBuildingRole(principal: Principal, org: OrgPosition): boolean {
  return [...rolesIn(principal, org)].some(isBuildingRole);
}

export function isMember(principal: Principal, org: OrgPosition): boolean {
  return rolesIn(principal, org).size > 0;
}

export function requireRole(principal: Principal, org: OrgPosition, role: Role): void {
  if (!hasRole(principal, org, role)) throw new AppError('forbidden', `this needs the role ${role}`);
}

/** For handlers of operations whose contract demands a principal; the edge has checked it. */
export function principalOf(call: Call): Principal {
  if (call.principal === null) throw new AppError('unauthorized', 'authentication is required');
  return call.principal;
}

/** The entities a credential is limited to; null when it is not limited. */
export function entityLimit(principal: Principal): readonly string[] | null {
  if (principal.kind === 'agent') return principal.allowedEntityIds;
  return principal.kind === 'api_key' ? principal.scopedEntityIds : null;
}

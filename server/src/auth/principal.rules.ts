import type { Role } from '@lintel/contract/roles';
import type { AgentPrincipal, KeyPrincipal, RoleGrant } from '../kernel/call.ts';
import type { CredentialRow } from './principal.store.ts';

/** A key's rights: its scope cut by what its creator may do now. */
export function scopedRoles(scope: readonly Role[] | null, creatorRoles: readonly Role[]): Role[] {
  if (scope === null) return [...creatorRoles];
  const creatorIsAdmin = creatorRoles.includes('admin');
  return scope.filter((role) => creatorIsAdmin || creatorRoles.includes(role));
}

export function toPrincipal(credential: CredentialRow): KeyPrincipal | AgentPrincipal {
  const { org, keyId, userId, expiresAt } = credential;
  const grants: RoleGrant[] = scopedRoles(credential.scopedRoles, credential.creatorRoles).map((role) => ({
    orgId: org.id,
    role,
  }));
  const base = { org, keyId, userId, expiresAt, grants };
  if (credential.agent === null) {
    return { kind: 'api_key', ...base, scopedEntityIds: credential.scopedEntityIds };
  }
  const { id, confirmationMode } = credential.agent;
  // A credential that a limited key asked for stays within that key's entities, however the agent grows later.
  const allowedEntityIds = credential.agent.allowedEntityIds.filter(
    (entityId) => credential.scopedEntityIds?.includes(entityId) ?? true,
  );
  return { kind: 'agent', ...base, agentId: id, allowedEntityIds, confirmationMode };
}

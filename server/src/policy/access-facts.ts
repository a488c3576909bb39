import { createHash } from 'node:crypto';
import type { OrgScope, Principal, RoleGrant } from '../kernel/call.ts';
import type { Verb } from '../providers/provider.ts';
import type { PolicyPrincipalKind } from './policy-kinds.ts';

/** Somebody with an invitation. Not a principal of requests: they come by the invitation's own link. */
export interface GuestPrincipal {
  readonly kind: 'guest';
  readonly guestId: string;
  readonly inviteId: string;
  readonly entityIds: readonly string[];
  readonly curfewExempt: boolean;
}

export type AccessPrincipal = Principal | GuestPrincipal;

/** An entity with what policies select by. */
export interface AccessPlace {
  readonly entityId: string;
  readonly entityType: string;
  readonly externalId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly deviceId: string;
  readonly deviceExternalId: string | null;
  /** Where it is known world-wide: the policies of its device hold for all devices that are the same one. */
  readonly hardwareId?: string | null;
  readonly integrationId: string;
  readonly providerType: string;
}

export interface AccessFacts {
  readonly principal: AccessPrincipal;
  readonly org: Pick<OrgScope, 'id' | 'path'>;
  readonly target: AccessPlace;
  readonly verb: Verb;
  /** What a portal opens through: policies of theirs hold as well. */
  readonly openers?: readonly AccessPlace[];
}

export function accessPrincipalId(principal: AccessPrincipal): string {
  if (principal.kind === 'guest') return principal.inviteId;
  if (principal.kind === 'user') return principal.userId;
  return principal.kind === 'agent' ? principal.agentId : principal.keyId;
}

/** Grants elsewhere in the tree decide nothing here. */
export function grantsHere({ principal, org }: AccessFacts): readonly RoleGrant[] {
  return principal.kind === 'guest' ? [] : principal.grants.filter(({ orgId }) => org.path.includes(orgId));
}

const buildingRole = /^virtual_access:integration:([^:]+):(manager|resident)$/;

export function buildingsOf(facts: AccessFacts, role: 'manager' | 'resident'): readonly string[] {
  return grantsHere(facts).flatMap((grant) => {
    const match = grant.orgId === facts.org.id ? buildingRole.exec(grant.role) : null;
    return match?.[1] !== undefined && match[2] === role ? [match[1]] : [];
  });
}

/** Who `applies_to` means. Somebody with a building role and another one is both: a second role never frees of a rule. */
export function kindsOf(facts: AccessFacts): readonly PolicyPrincipalKind[] {
  const { principal, org } = facts;
  if (principal.kind === 'guest') return ['invitation'];
  if (principal.kind !== 'user') return [principal.kind];
  const grants = grantsHere(facts);
  if (grants.some(({ role }) => role === 'admin')) return ['admin'];
  const own = grants.filter(({ orgId }) => orgId === org.id);
  const resident = buildingsOf(facts, 'resident').length;
  if (resident === 0) return ['member'];
  return own.length > resident ? ['member', 'resident'] : ['resident'];
}

/** Where the number of the output is not written, it is the provider's first. */
const firstOutput: Readonly<Record<string, string>> = {
  palgate_cloud: '1',
  tasmota: '1',
  shelly_cloud: '0',
};

export function outputOf(place: AccessPlace): string | null {
  const suffix = /:(\d+)$/;
  return (
    place.metadata.channel_index ??
    suffix.exec(place.externalId ?? '')?.[1] ??
    suffix.exec(place.deviceExternalId ?? '')?.[1] ??
    firstOutput[place.providerType] ??
    null
  );
}

/** A selector is the number of an output, or the id of an entity here or on the far side. */
export function isOutput(place: AccessPlace, selector: string): boolean {
  return selector === outputOf(place) || selector === place.entityId || selector === place.externalId;
}

/** Everything of the principal that a decision here can rest on: the key under which an answer is kept. */
export function principalFingerprint(facts: AccessFacts): string {
  const { principal } = facts;
  const grants = grantsHere(facts).map(({ orgId, role }) => `${orgId} ${role}`);
  const text = [principal.kind, accessPrincipalId(principal), ...grants.sort(), ...limitsOf(principal)].join(
    '\n',
  );
  return text.length < 512 ? text : createHash('sha256').update(text).digest('base64');
}

function limitsOf(principal: AccessPrincipal): readonly string[] {
  switch (principal.kind) {
    case 'user':
      return [];
    case 'guest':
      return ['entities', ...principal.entityIds, String(principal.curfewExempt)];
    case 'api_key':
      return [
        principal.userId,
        ...(principal.scopedEntityIds === null ? [] : ['entities', ...principal.scopedEntityIds]),
      ];
    case 'agent':
      return [principal.userId, principal.confirmationMode, 'entities', ...principal.allowedEntityIds];
  }
}

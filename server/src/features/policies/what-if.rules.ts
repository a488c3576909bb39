import type { OrgScope, Principal, RoleGrant } from '../../kernel/call.ts';
import type { AccessPlace, AccessPrincipal } from '../../policy/access-facts.ts';
import {
  type ActivePolicy,
  indexPolicies,
  type OrgPolicies,
  type StoredPolicy,
} from '../../policy/org-policies.ts';
import { type PolicySnapshot, type Reason, timedAnswer, typedRules } from '../../policy/typed-rules.ts';
import type { OpenEvent } from './what-if.store.ts';

/** The policies there are, and a draft that is not one of them yet. */
export function withDraft({ orgs }: PolicySnapshot, draft: StoredPolicy, zone: string): PolicySnapshot {
  return { orgs: [...orgs, indexPolicies(zone, [draft])] };
}

/** The draft alone, beside the holidays that it may ask for. */
export function draftAlone({ orgs }: PolicySnapshot, draft: StoredPolicy, zone: string): PolicySnapshot {
  return { orgs: [...orgs.map(onlyCalendars), indexPolicies(zone, [draft])] };
}

function onlyCalendars({ orgWide, byIntegration, byDevice, byHardware }: OrgPolicies): OrgPolicies {
  const isCalendar = ({ rule }: ActivePolicy) => rule.kind === 'holidays';
  const ofEach = (index: OrgPolicies['byDevice']) =>
    new Map([...index].map(([key, policies]) => [key, policies.filter(isCalendar)]));
  return {
    orgWide: orgWide.filter(isCalendar),
    byIntegration: ofEach(byIntegration),
    byDevice: ofEach(byDevice),
    byHardware: ofEach(byHardware),
    lockdown: null,
    openHolds: new Map(),
  };
}

/** Of the organizations from the root to here, those that the caller may look into: this one, and those they are admin of. */
export function seenBy({ grants }: Principal, { path }: OrgScope): readonly string[] {
  const top = path.findIndex((id) => grants.some(({ orgId, role }) => role === 'admin' && orgId === id));
  return path.slice(top === -1 ? path.length - 1 : top);
}

/** Who has no right but one above, where the caller may not look, is not named to them. */
export function nameOf(name: string, grants: readonly RoleGrant[], seen: readonly string[]): string {
  const [first] = grants;
  if (first === undefined || grants.some(({ orgId }) => seen.includes(orgId))) return name;
  return `administrator of ${first.orgId}`;
}

export interface PastOpen {
  readonly principal: AccessPrincipal;
  readonly org: OrgScope;
  readonly target: AccessPlace;
  readonly openers: readonly AccessPlace[];
  readonly verb: OpenEvent['command'];
  readonly atMs: number;
}

/** What the draft says of an open, also where it would only watch. */
export function verdictOf(policies: PolicySnapshot, open: PastOpen): Reason | null {
  const rules = typedRules(policies, open);
  const timed = timedAnswer(rules, open, open.atMs);
  const [reason] = [...rules.reasons, ...rules.wouldHave, ...timed.reasons, ...timed.wouldHave];
  return reason ?? null;
}

/** Who did it, with what they may now. Who is gone is somebody of the same kind without any role. */
export function actorIn(
  principals: ReadonlyMap<string, Principal>,
  event: OpenEvent,
  org: OrgScope,
): AccessPrincipal {
  const id = actorIdOf(event) ?? '';
  const known = principals.get(id);
  if (known !== undefined) return known;
  const base = { userId: event.userId ?? '', grants: [] };
  const credential = { ...base, keyId: event.keyId ?? '', org, expiresAt: event.occurredAt };
  switch (event.actorKind) {
    case 'guest':
      return { kind: 'guest', guestId: id, inviteId: id, entityIds: [event.entityId], curfewExempt: false };
    case 'agent':
      return { kind: 'agent', ...credential, agentId: id, allowedEntityIds: [], confirmationMode: 'policy' };
    case 'api_key':
      return { kind: 'api_key', ...credential, scopedEntityIds: null };
    case 'user':
    case 'system':
      return { kind: 'user', ...base, sessionId: '' };
  }
}

export function actorIdOf({ actorKind, userId, agentId, keyId, guestId }: OpenEvent): string | null {
  return { user: userId, agent: agentId, api_key: keyId, guest: guestId, system: null }[actorKind];
}

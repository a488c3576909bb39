import type { ConfirmationMode } from '@lintel/contract/agents';
import type { Role } from '@lintel/contract/roles';
import { AppError, invalid } from '../../kernel/app-error.ts';
import { entityLimit, hasRole, type OrgScope, type Principal, rolesIn } from '../../kernel/call.ts';
import { type ExpiryInput, earlierExpiry, expiryOf } from '../../kernel/expiry.ts';
import { cleanText } from '../../kernel/text.ts';

/**
 * What a manager decides about an agent. A null list of entities or portals means none. A portal is named by its device
 * and stands for the entities it has, whenever they were added.
 */
export interface AgentFields {
  readonly name: string;
  readonly purpose: string | null;
  readonly confirmationMode: ConfirmationMode;
  readonly allowedEntityIds: readonly string[] | null;
  readonly allowedPortalIds: readonly string[] | null;
  /** Null: every tool that only reads. */
  readonly allowedToolNames: readonly string[] | null;
  readonly expiresAt: Date | null;
}

/** Absent keeps, null clears, a value sets. */
export interface AgentInput extends ExpiryInput {
  readonly name?: string | null;
  readonly purpose?: string | null;
  readonly confirmation_mode?: ConfirmationMode | null;
  readonly allowed_entity_ids?: string[] | null;
  readonly allowed_portal_ids?: string[] | null;
  readonly allowed_tool_names?: string[] | null;
}

const blank: AgentFields = {
  name: '',
  purpose: null,
  confirmationMode: 'policy',
  allowedEntityIds: null,
  allowedPortalIds: null,
  allowedToolNames: null,
  expiresAt: null,
};

export function newAgentFields(input: AgentInput & { name: string }, now: Date): AgentFields {
  return changedFields(blank, input, now);
}

export function changedFields(current: AgentFields, input: AgentInput, now: Date): AgentFields {
  if (input.name === null) throw invalid('/name', 'can not be cleared');
  return {
    name: input.name === undefined ? current.name : cleanMember('/name', input.name, 120),
    purpose: keepOr(cleanPurpose(input.purpose), current.purpose),
    confirmationMode: keepOr(input.confirmation_mode, current.confirmationMode) ?? blank.confirmationMode,
    allowedEntityIds: keepOr(input.allowed_entity_ids, current.allowedEntityIds),
    allowedPortalIds: keepOr(input.allowed_portal_ids, current.allowedPortalIds),
    allowedToolNames: keepOr(cleanTools(input.allowed_tool_names), current.allowedToolNames),
    expiresAt: changedExpiry(current.expiresAt, input, now),
  };
}

function keepOr<T>(given: T | undefined, kept: T): T {
  return given === undefined ? kept : given;
}

function cleanPurpose(purpose: string | null | undefined): string | null | undefined {
  return typeof purpose === 'string' ? cleanMember('/purpose', purpose, 500) : purpose;
}

function changedExpiry(current: Date | null, input: ExpiryInput, now: Date): Date | null {
  const isGiven = input.expires_at !== undefined || input.expires_in !== undefined;
  return isGiven ? expiryOf(input, now) : current;
}

function cleanTools(names: readonly string[] | null | undefined): string[] | null | undefined {
  if (names === null || names === undefined) return names;
  return names.map((name, index) => cleanMember(`/allowed_tool_names/${index}`, name, 64));
}

export function cleanMember(path: string, input: string, maxLength: number): string {
  const cleaned = cleanText(input, { maxLength });
  if (!cleaned.ok) throw invalid(path, cleaned.reason);
  return cleaned.text;
}

/** Through an agent nobody reaches further than by themselves: a key limited to entities makes agents within them. */
export function requireWithinLimit(principal: Principal, agent: AgentFields): void {
  const limit = entityLimit(principal);
  if (limit === null) return;
  const reachesOut = (agent.allowedEntityIds ?? []).some((id) => !limit.includes(id));
  if (reachesOut || (agent.allowedPortalIds ?? []).length > 0)
    throw new AppError('forbidden', 'this agent would reach more than you are allowed yourself');
}

/** Administrators manage every agent of the organization, others their own. */
export function mayManageAgent(principal: Principal, org: OrgScope, agent: { ownerUserId: string }): boolean {
  return agent.ownerUserId === principal.userId || hasRole(principal, org, 'admin');
}

export interface CredentialScope {
  readonly roles: Role[] | null;
  readonly entityIds: string[] | null;
}

/** A credential acts with its agent's rights, cut to those of the key it was asked for with. */
export function credentialScope(principal: Principal, org: OrgScope): CredentialScope {
  const isWhole = principal.kind === 'user' || hasRole(principal, org, 'admin');
  const limit = entityLimit(principal);
  return { roles: isWhole ? null : [...rolesIn(principal, org)], entityIds: limit && [...limit] };
}

const defaultCredentialMs = 90 * 86_400_000;

/** Null when the agent itself is expired: no credential of it could ever work. */
export function credentialExpiry(input: ExpiryInput, agent: AgentFields, now: Date): Date | null {
  const wanted = expiryOf(input, now) ?? new Date(now.getTime() + defaultCredentialMs);
  const expiry = earlierExpiry(wanted, agent.expiresAt);
  return expiry <= now ? null : expiry;
}

import type { EventType } from '@lintel/contract/events';
import type { Role } from '@lintel/contract/roles';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { unknownEntityIds } from '../../db/entity-ids.ts';
import { AppError, invalid, notFound } from '../../kernel/app-error.ts';
import { type Call, hasRole, type OrgScope, principalOf } from '../../kernel/call.ts';
import { type Clock, toRfc3339 } from '../../kernel/clock.ts';
import type { ExpiryInput } from '../../kernel/expiry.ts';
import { ulid } from '../../kernel/ulid.ts';
import type { ProviderManifest } from '../../providers/provider.ts';
import {
  type AgentFields,
  type AgentInput,
  changedFields,
  cleanMember,
  credentialExpiry,
  credentialScope,
  mayManageAgent,
  newAgentFields,
  requireWithinLimit,
} from './agents.rules.ts';
import {
  type Agent,
  findAgent,
  insertAgent,
  listAgents,
  listDevices,
  lockAgent,
  revokeAgent,
  type SiteDevice,
  updateAgent,
} from './agents.store.ts';

interface NewCredential {
  readonly name: string;
  readonly createdByUserId: string;
  readonly agentId: string;
  readonly scopedRoles: Role[] | null;
  readonly scopedEntityIds: string[] | null;
  readonly expiresAt: Date;
}

export interface AgentCredential {
  readonly id: string;
  readonly token: string;
  readonly tokenSuffix: string;
  readonly expiresAt: Date;
}

export interface AgentsDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly manifestOf: (providerType: string) => ProviderManifest | null;
  /** A credential is an API key that belongs to the agent. */
  readonly issueKey: (tx: Tx, orgId: string, key: NewCredential) => Promise<AgentCredential>;
}

export interface CredentialInput extends ExpiryInput {
  readonly name?: string | null;
}

export interface AgentsService {
  list(
    call: Call,
    org: OrgScope,
    page: { limit: number; offset: number },
  ): Promise<{ items: Agent[]; total: number }>;
  get(call: Call, org: OrgScope, id: string): Promise<Agent>;
  create(call: Call, org: OrgScope, input: AgentInput & { name: string }): Promise<Agent>;
  update(call: Call, org: OrgScope, id: string, input: AgentInput): Promise<Agent>;
  revoke(call: Call, org: OrgScope, id: string): Promise<void>;
  createCredential(call: Call, org: OrgScope, id: string, input: CredentialInput): Promise<AgentCredential>;
}

export function createAgentsService(deps: AgentsDeps): AgentsService {
  const { db } = deps;
  return {
    list: (call, org, page) => {
      const principal = principalOf(call);
      const ownerUserId = hasRole(principal, org, 'admin') ? null : principal.userId;
      return db.inOrg(org.id, (tx) => listAgents(tx, org.id, { ...page, ownerUserId }));
    },
    get: (call, org, id) =>
      db.inOrg(org.id, async (tx) => visibleAgent(call, org, await findAgent(tx, org.id, id))),
    create: (call, org, input) => createAgent(deps, call, org, input),
    update: (call, org, id, input) => changeAgent(deps, call, org, id, input),
    revoke: (call, org, id) =>
      db.inOrg(org.id, async (tx) => {
        const agent = visibleAgent(call, org, await lockAgent(tx, org.id, id));
        const stopped = await revokeAgent(tx, org.id, id);
        await record(tx, call, agent, 'agent.revoked', { credentials_stopped: stopped });
      }),
    createCredential: (call, org, id, input) => issueCredential(deps, call, org, id, input),
  };
}

async function createAgent(
  deps: AgentsDeps,
  call: Call,
  org: OrgScope,
  input: AgentInput & { name: string },
): Promise<Agent> {
  const principal = principalOf(call);
  const fields = newAgentFields(input, deps.clock.now());
  requireWithinLimit(principal, fields);
  return deps.db.inOrg(org.id, async (tx) => {
    await requireKnown(deps, tx, org.id, input);
    const owner = { orgId: org.id, id: ulid(), ownerUserId: principal.userId };
    const agent = await insertAgent(tx, { ...fields, ...owner });
    await record(tx, call, agent, 'agent.created', detailsOf(fields));
    return agent;
  });
}

async function changeAgent(deps: AgentsDeps, call: Call, org: OrgScope, id: string, input: AgentInput) {
  return deps.db.inOrg(org.id, async (tx) => {
    const agent = requireActive(visibleAgent(call, org, await lockAgent(tx, org.id, id)));
    const fields = changedFields(agent, input, deps.clock.now());
    requireWithinLimit(principalOf(call), fields);
    await requireKnown(deps, tx, org.id, input);
    const changed = await updateAgent(tx, org.id, id, fields);
    await record(tx, call, changed, 'agent.updated', detailsOf(fields));
    return changed;
  });
}

async function issueCredential(
  deps: AgentsDeps,
  call: Call,
  org: OrgScope,
  id: string,
  input: CredentialInput,
): Promise<AgentCredential> {
  const principal = principalOf(call);
  const name = typeof input.name === 'string' ? cleanMember('/name', input.name, 120) : null;
  return deps.db.inOrg(org.id, async (tx) => {
    const agent = requireActive(visibleAgent(call, org, await lockAgent(tx, org.id, id)));
    const expiresAt = credentialExpiry(input, agent, deps.clock.now());
    if (expiresAt === null) throw invalid('/expires_at', 'the agent itself is expired; extend it first');
    const scope = credentialScope(principal, org);
    const credential = await deps.issueKey(tx, org.id, {
      name: name ?? agent.name,
      createdByUserId: principal.userId,
      agentId: agent.id,
      scopedRoles: scope.roles,
      scopedEntityIds: scope.entityIds,
      expiresAt,
    });
    const details = { api_key_id: credential.id, expires_at: toRfc3339(expiresAt) };
    await record(tx, call, agent, 'agent.credential_created', details);
    return credential;
  });
}

function visibleAgent(call: Call, org: OrgScope, agent: Agent | null): Agent {
  if (agent === null || !mayManageAgent(principalOf(call), org, agent)) throw notFound();
  return agent;
}

function requireActive(agent: Agent): Agent {
  if (agent.revokedAt !== null) throw new AppError('agent_revoked', 'the agent is revoked');
  return agent;
}

/** Only lists that are given are looked up: what was deleted since must not block every other change. */
async function requireKnown(deps: AgentsDeps, tx: Tx, orgId: string, input: AgentInput): Promise<void> {
  const [entity] = await unknownEntityIds(tx, orgId, input.allowed_entity_ids ?? []);
  if (entity !== undefined)
    throw invalid('/allowed_entity_ids', `${entity} is not an entity of this organization`);
  const wanted = input.allowed_portal_ids ?? [];
  if (wanted.length === 0) return;
  const devices = await listDevices(tx, orgId, wanted);
  const portals = devices.filter((device) => isPortal(deps.manifestOf(device.providerType), device));
  const known = new Set(portals.map(({ id }) => id));
  const portal = wanted.find((id) => !known.has(id));
  if (portal !== undefined)
    throw invalid('/allowed_portal_ids', `${portal} is not a portal of this organization`);
}

/** A device of a site that something can be opened by. */
function isPortal(manifest: ProviderManifest | null, { deviceMetadata }: SiteDevice): boolean {
  return (manifest?.composition?.(deviceMetadata) ?? null) !== null;
}

function detailsOf(agent: AgentFields): Record<string, unknown> {
  return {
    purpose: agent.purpose,
    confirmation_mode: agent.confirmationMode,
    allowed_entity_ids: agent.allowedEntityIds,
    allowed_portal_ids: agent.allowedPortalIds,
    allowed_tool_names: agent.allowedToolNames,
    expires_at: agent.expiresAt && toRfc3339(agent.expiresAt),
  };
}

async function record(tx: Tx, call: Call, agent: Agent, type: EventType, details: Record<string, unknown>) {
  const resource = { type: 'agent', id: agent.id, name: agent.name };
  await recordEvent(tx, originOf(call), { orgId: agent.orgId, type, resource, details });
}

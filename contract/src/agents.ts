import { type Static, Type } from 'typebox';
import {
  Closed,
  IdParams,
  Nullable,
  OptionalNullable,
  Page,
  pagination,
  Response,
  Timestamp,
  Ulid,
} from './common.ts';
import { defineOperation } from './operation.ts';

export const confirmationModes = ['policy', 'always', 'human'] as const;
export type ConfirmationMode = (typeof confirmationModes)[number];
const ConfirmationMode = Type.Unsafe<ConfirmationMode>({
  type: 'string',
  enum: [...confirmationModes],
  description: 'policy: as policies say; always: step-up on every action; human: a human must approve',
});
const idList = (maxItems: number) => Type.Array(Ulid, { maxItems, uniqueItems: true });
const toolNames = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  maxItems: 100,
  uniqueItems: true,
});

export const Agent = Response('AgentResponse', {
  id: Ulid,
  org_id: Ulid,
  owner_user_id: Ulid,
  name: Type.String(),
  purpose: Nullable(Type.String()),
  confirmation_mode: ConfirmationMode,
  allowed_entity_ids: Nullable(Type.Array(Ulid)),
  allowed_portal_ids: Nullable(Type.Array(Ulid)),
  allowed_tool_names: Nullable(Type.Array(Type.String())),
  expires_at: Nullable(Timestamp),
  last_used_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Agent = Static<typeof Agent>;

const agentInput = {
  purpose: OptionalNullable(Type.String({ maxLength: 500 })),
  confirmation_mode: OptionalNullable(ConfirmationMode),
  allowed_entity_ids: OptionalNullable(idList(1000)),
  allowed_portal_ids: OptionalNullable(
    Type.Array(Ulid, {
      maxItems: 1000,
      uniqueItems: true,
      description: 'Devices of a site: the agent may act on the entities of these portals',
    }),
  ),
  allowed_tool_names: OptionalNullable(toolNames),
  expires_at: OptionalNullable(Timestamp),
  expires_in: OptionalNullable(Type.String({ maxLength: 64 })),
};

export const CreateAgentRequest = Closed('CreateAgentRequest', {
  name: Type.String({ minLength: 1, maxLength: 120 }),
  ...agentInput,
});

export const UpdateAgentRequest = Closed('UpdateAgentRequest', {
  name: OptionalNullable(Type.String({ minLength: 1, maxLength: 120 })),
  ...agentInput,
});

export const CreateAgentCredentialRequest = Closed('CreateAgentCredentialRequest', {
  name: OptionalNullable(Type.String({ minLength: 1, maxLength: 120 })),
  expires_at: OptionalNullable(Timestamp),
  expires_in: OptionalNullable(Type.String({ maxLength: 64 })),
});

export const CreateAgentCredentialResponse = Response('CreateAgentCredentialResponse', {
  agent_id: Ulid,
  api_key_id: Ulid,
  token: Type.String({ description: 'Shown once' }),
  token_suffix: Type.String(),
  expires_at: Timestamp,
});

const agentOperation = {
  tag: 'Agents',
  auth: 'principal',
  agents: false,
  org: 'principal',
  role: 'agents:manage',
} as const;

export const agentOperations = [
  defineOperation({
    ...agentOperation,
    id: 'list_agents',
    method: 'GET',
    path: '/agents',
    summary: 'List agents, revoked ones too',
    query: Type.Object({ ...pagination }),
    responses: { 200: Page(Agent) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...agentOperation,
    id: 'create_agent',
    method: 'POST',
    path: '/agents',
    summary: 'Create a named agent owned by the caller',
    body: CreateAgentRequest,
    responses: { 201: Agent },
    errors: [],
    audit: 'agent.created',
  }),
  defineOperation({
    ...agentOperation,
    id: 'get_agent',
    method: 'GET',
    path: '/agents/{id}',
    summary: 'Read an agent',
    params: IdParams,
    responses: { 200: Agent },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...agentOperation,
    id: 'update_agent',
    method: 'PATCH',
    path: '/agents/{id}',
    summary: 'Change an agent; null clears',
    params: IdParams,
    body: UpdateAgentRequest,
    responses: { 200: Agent },
    errors: ['agent_revoked'],
    audit: 'agent.updated',
  }),
  defineOperation({
    ...agentOperation,
    id: 'revoke_agent',
    method: 'DELETE',
    path: '/agents/{id}',
    summary: 'Revoke an agent: all its credentials stop at once',
    params: IdParams,
    responses: { 204: null },
    errors: [],
    audit: 'agent.revoked',
  }),
  defineOperation({
    ...agentOperation,
    id: 'create_agent_credential',
    method: 'POST',
    path: '/agents/{id}/credentials',
    summary: 'Give an agent a credential; the token is returned once',
    params: IdParams,
    body: CreateAgentCredentialRequest,
    responses: { 201: CreateAgentCredentialResponse },
    errors: ['agent_revoked', 'quota_exceeded'],
    audit: 'agent.credential_created',
  }),
] as const;

import type { Agent as AgentRecord } from '@lintel/contract/agents';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { AgentsService } from './agents.service.ts';
import type { Agent } from './agents.store.ts';

type Ids =
  | 'list_agents'
  | 'create_agent'
  | 'get_agent'
  | 'update_agent'
  | 'revoke_agent'
  | 'create_agent_credential';

export function agentRoutes(agents: AgentsService): HandlersOf<Ids> {
  return {
    list_agents: async ({ call, org, query }) => {
      const page = await agents.list(call, org, { limit: query.limit ?? 50, offset: query.offset ?? 0 });
      return { items: page.items.map(toRecord), total: page.total };
    },
    create_agent: async ({ call, org, body }) => toRecord(await agents.create(call, org, body)),
    get_agent: async ({ call, org, params }) => toRecord(await agents.get(call, org, params.id)),
    update_agent: async ({ call, org, params, body }) =>
      toRecord(await agents.update(call, org, params.id, body)),
    revoke_agent: async ({ call, org, params }) => {
      await agents.revoke(call, org, params.id);
    },
    create_agent_credential: async ({ call, org, params, body }) => {
      const credential = await agents.createCredential(call, org, params.id, body);
      return {
        agent_id: params.id,
        api_key_id: credential.id,
        token: credential.token,
        token_suffix: credential.tokenSuffix,
        expires_at: toRfc3339(credential.expiresAt),
      };
    },
  };
}

function toRecord(agent: Agent): AgentRecord {
  return {
    id: agent.id,
    org_id: agent.orgId,
    owner_user_id: agent.ownerUserId,
    name: agent.name,
    purpose: agent.purpose,
    confirmation_mode: agent.confirmationMode,
    allowed_entity_ids: agent.allowedEntityIds && [...agent.allowedEntityIds],
    allowed_portal_ids: agent.allowedPortalIds && [...agent.allowedPortalIds],
    allowed_tool_names: agent.allowedToolNames && [...agent.allowedToolNames],
    expires_at: agent.expiresAt && toRfc3339(agent.expiresAt),
    last_used_at: agent.lastUsedAt && toRfc3339(agent.lastUsedAt),
    revoked_at: agent.revokedAt && toRfc3339(agent.revokedAt),
    created_at: toRfc3339(agent.createdAt),
    updated_at: toRfc3339(agent.updatedAt),
  };
}

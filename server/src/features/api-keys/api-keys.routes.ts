import type { ApiKeyListItem } from '@lintel/contract/api-keys';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { ApiKeysService, IssuedKey } from './api-keys.service.ts';
import type { ApiKey } from './api-keys.store.ts';

type Ids =
  | 'list_api_keys'
  | 'create_api_key'
  | 'update_api_key'
  | 'revoke_api_key'
  | 'restore_api_key'
  | 'purge_api_key';

export function apiKeyRoutes(keys: ApiKeysService, baseUrl: string): HandlersOf<Ids> {
  return {
    list_api_keys: async ({ call, org, query }) => {
      const page = await keys.list(call, org, { limit: query.limit ?? 50, offset: query.offset ?? 0 });
      return { items: page.items.map((key) => toListItem(key, baseUrl)), total: page.total };
    },
    create_api_key: async ({ call, org, body }) => toCreated(await keys.create(call, org, body), baseUrl),
    update_api_key: async ({ call, org, params, body }) => {
      await keys.update(call, org, params.id, body);
    },
    revoke_api_key: async ({ call, org, params }) => {
      await keys.revoke(call, org, params.id);
    },
    restore_api_key: async ({ call, org, params }) => {
      await keys.restore(call, org, params.id);
    },
    purge_api_key: async ({ call, org, params }) => {
      await keys.purge(call, org, params.id);
    },
  };
}

function toListItem(key: ApiKey, baseUrl: string): ApiKeyListItem {
  return {
    id: key.id,
    name: key.name,
    base_url: baseUrl,
    token_suffix: key.tokenSuffix,
    created_by_user_id: key.createdByUserId,
    agent_id: key.agentId,
    scoped_roles: key.scopedRoles,
    scoped_entity_ids: key.scopedEntityIds,
    expires_at: toRfc3339(key.expiresAt),
    created_at: toRfc3339(key.createdAt),
    updated_at: toRfc3339(key.updatedAt),
    last_used_at: key.lastUsedAt && toRfc3339(key.lastUsedAt),
    revoked_at: key.revokedAt && toRfc3339(key.revokedAt),
  };
}

function toCreated(key: IssuedKey, baseUrl: string) {
  return {
    id: key.id,
    name: key.name,
    base_url: baseUrl,
    token: key.token,
    token_suffix: key.tokenSuffix,
    expires_at: toRfc3339(key.expiresAt),
    created_at: toRfc3339(key.createdAt),
    scoped_roles: key.scopedRoles,
    scoped_entity_ids: key.scopedEntityIds,
  };
}

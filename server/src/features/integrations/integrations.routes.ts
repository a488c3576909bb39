import type { Integration as IntegrationRecord } from '@lintel/contract/integrations';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { IntegrationsService, ListedIntegration } from './integrations.service.ts';

export function integrationRoutes(integrations: IntegrationsService): HandlersOf<'list_integrations'> {
  return {
    list_integrations: async ({ call, org, query }) => {
      const filters = {
        includeDeleted: query.include_deleted ?? false,
        onlyDeleted: query.only_deleted ?? false,
        providerType: query.provider_type ?? null,
        q: query.q ?? null,
      };
      const page = { limit: query.limit ?? 50, offset: query.offset ?? 0 };
      const { items, total } = await integrations.list(call, org, filters, page);
      return { items: items.map(toRecord), total };
    },
  };
}

function toRecord(integration: ListedIntegration): IntegrationRecord {
  return {
    id: integration.id,
    org_id: integration.orgId,
    provider_type: integration.providerType,
    provider_type_name: integration.providerTypeName,
    name: integration.name,
    enabled: integration.enabled,
    health: integration.health,
    config: integration.config,
    created_at: toRfc3339(integration.createdAt),
    updated_at: toRfc3339(integration.updatedAt),
    ...(integration.deletedAt ? { deleted_at: toRfc3339(integration.deletedAt) } : {}),
  };
}

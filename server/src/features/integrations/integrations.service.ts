import type { LocalizedText } from '@lintel/contract/common';
import type { Database } from '../../db/database.ts';
import { type Call, entityLimit, type OrgScope, principalOf } from '../../kernel/call.ts';
import { type Integration, type IntegrationFilters, listIntegrations } from './integrations.store.ts';

export type IntegrationHealth = 'ok' | 'reduced' | 'error';

export interface IntegrationsDeps {
  readonly db: Database;
  /** What a kind of provider is called. */
  readonly providerLabel: (providerType: string) => LocalizedText;
  readonly health: (providerType: string, integrationId: string) => IntegrationHealth;
}

export interface ListedIntegration extends Integration {
  readonly providerTypeName: LocalizedText;
  readonly health: IntegrationHealth;
}

export interface IntegrationsService {
  list(
    call: Call,
    org: OrgScope,
    filters: Omit<IntegrationFilters, 'limitedTo'>,
    page: { limit: number; offset: number },
  ): Promise<{ items: ListedIntegration[]; total: number }>;
}

export function createIntegrationsService(deps: IntegrationsDeps): IntegrationsService {
  return {
    async list(call, org, filters, page) {
      const limitedTo = entityLimit(principalOf(call));
      const found = await deps.db.inOrg(org.id, (tx) =>
        listIntegrations(tx, org.id, { ...filters, limitedTo }, page),
      );
      const items = found.items.map((integration) => ({
        ...integration,
        providerTypeName: deps.providerLabel(integration.providerType),
        health: deps.health(integration.providerType, integration.id),
      }));
      return { items, total: found.total };
    },
  };
}

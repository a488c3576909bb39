import type { Integration as IntegrationRecord } from '@lintel/contract/integrations';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { StampsOf } from '../../kernel/lifecycle.ts';
import type { IntegrationsService, ListedIntegration } from './integrations.service.ts';

type ReadIds =
  | 'list_integrations'
  | 'get_integration'
  | 'list_integration_provider_types'
  | 'get_integration_provider_definition'
  | 'get_integration_secrets';
type ChangeIds =
  | 'create_integration'
  | 'update_integration'
  | 'delete_integration'
  | 'restore_integration'
  | 'hard_delete_integration';

type ToRecord = (integration: ListedIntegration) => IntegrationRecord;

export function integrationRoutes(
  integrations: IntegrationsService,
  stampsOf: StampsOf,
): HandlersOf<ReadIds | ChangeIds> {
  const toRecord: ToRecord = (integration) => recordOf(integration, stampsOf);
  return { ...readRoutes(integrations, toRecord), ...changeRoutes(integrations, toRecord) };
}

function readRoutes(integrations: IntegrationsService, toRecord: ToRecord): HandlersOf<ReadIds> {
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
    get_integration: async ({ call, org, params, query }) =>
      toRecord(await integrations.get(call, org, params.id, query.include_deleted ?? false)),
    list_integration_provider_types: async () =>
      integrations
        .providerTypes()
        .map(({ providerType, name }) => ({ provider_type: providerType, provider_type_name: { ...name } })),
    get_integration_provider_definition: async ({ params }) => integrations.definition(params.provider_type),
    // The one answer that shows secrets.
    get_integration_secrets: async ({ call, org, params }) => {
      const secrets = await integrations.readSecrets(call, org, params.id);
      return Object.fromEntries(Object.entries(secrets).map(([field, secret]) => [field, secret.reveal()]));
    },
  };
}

function changeRoutes(integrations: IntegrationsService, toRecord: ToRecord): HandlersOf<ChangeIds> {
  return {
    create_integration: async ({ call, org, body }) => toRecord(await integrations.create(call, org, body)),
    update_integration: async ({ call, org, params, body }) =>
      toRecord(await integrations.update(call, org, params.id, body)),
    delete_integration: async ({ call, org, params, query }) =>
      toRecord(await integrations.remove(call, org, params.id, query.recursive ?? false)),
    restore_integration: async ({ call, org, params }) =>
      toRecord(await integrations.restore(call, org, params.id)),
    hard_delete_integration: async ({ call, org, params, query }) =>
      toRecord(await integrations.purge(call, org, params.id, query.recursive ?? false)),
  };
}

function recordOf(integration: ListedIntegration, stampsOf: StampsOf): IntegrationRecord {
  return {
    id: integration.id,
    org_id: integration.orgId,
    provider_type: integration.providerType,
    provider_type_name: integration.providerTypeName,
    name: integration.name,
    enabled: integration.enabled,
    health: integration.health,
    config: integration.config,
    ...stampsOf(integration),
  };
}

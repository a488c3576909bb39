import type { DiscoveredDevice } from '@lintel/contract/integration-ops';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { DiscoveredWithUse, IntegrationOpsService } from './integration-ops.service.ts';
import { opRecord } from './integrations.rules.ts';

type OpIds =
  | 'list_integration_ops'
  | 'execute_integration_op'
  | 'get_integration_discovered_devices'
  | 'get_integration_device_metadata_schema';

export function integrationOpRoutes(ops: IntegrationOpsService): HandlersOf<OpIds> {
  return {
    list_integration_ops: async ({ call, org, params, query }) =>
      (await ops.list(call, org, params.id, query.include_deleted ?? false)).map(opRecord),
    execute_integration_op: ({ call, org, params, body }) =>
      ops.execute(call, org, params.id, params.op_id, body),
    get_integration_discovered_devices: async ({ call, org, params, query }) =>
      (await ops.discover(call, org, params.id, query.include_deleted ?? false)).map(toRecord),
    get_integration_device_metadata_schema: async ({ call, org, params, query }) => {
      const includeDeleted = query.include_deleted ?? false;
      const { providerType, schema } = await ops.deviceMetadataSchema(call, org, params.id, includeDeleted);
      return { provider_type: providerType, schema };
    },
  };
}

function toRecord({
  externalId,
  name,
  model,
  channelCount,
  alreadyAdded,
}: DiscoveredWithUse): DiscoveredDevice {
  return {
    external_id: externalId,
    name,
    ...(model === undefined ? {} : { model }),
    ...(channelCount === undefined ? {} : { channel_count: channelCount }),
    already_added: alreadyAdded,
  };
}

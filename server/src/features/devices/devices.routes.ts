import type { Device as DeviceRecord } from '@lintel/contract/devices';
import type { Query } from '@lintel/contract/operations';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { StampsOf } from '../../kernel/lifecycle.ts';
import { localeChain } from './devices.rules.ts';
import type { DevicesService, ListFilters } from './devices.service.ts';
import type { Device, DevicePage } from './devices.store.ts';

type DeviceIds =
  | 'list_devices'
  | 'create_device'
  | 'get_device'
  | 'get_device_metadata_definition'
  | 'update_device'
  | 'delete_device'
  | 'restore_device'
  | 'hard_delete_device';

export function deviceRoutes(devices: DevicesService, stampsOf: StampsOf): HandlersOf<DeviceIds> {
  const toRecord = (device: Device) => recordOf(device, stampsOf);
  return {
    list_devices: async ({ call, org, query }) => {
      const { items, total } = await devices.list(call, org, filtersOf(query), pageOf(query));
      return { items: items.map(toRecord), total };
    },
    create_device: async ({ call, org, body }) => toRecord(await devices.create(call, org, body)),
    get_device: async ({ call, org, params, query }) =>
      toRecord(await devices.get(call, org, params.id, query.include_deleted ?? false)),
    get_device_metadata_definition: async ({ call, org, params }) => {
      const { providerType, schema, data } = await devices.metadataDefinition(call, org, params.id);
      return { provider_type: providerType, schema, data };
    },
    update_device: async ({ call, org, params, body }) =>
      toRecord(await devices.update(call, org, params.id, body)),
    delete_device: async ({ call, org, params, query }) =>
      toRecord(await devices.remove(call, org, params.id, query.recursive ?? false)),
    restore_device: async ({ call, org, params }) => toRecord(await devices.restore(call, org, params.id)),
    hard_delete_device: async ({ call, org, params, query }) =>
      toRecord(await devices.purge(call, org, params.id, query.recursive ?? false)),
  };
}

function filtersOf(query: Query<'list_devices'>): ListFilters {
  return {
    includeDeleted: query.include_deleted ?? false,
    onlyDeleted: query.only_deleted ?? false,
    integrationId: query.integration_id ?? null,
    kind: query.device_kind ?? null,
    externalId: query.external_id ?? null,
    hasExternalId: query.has_external_id ?? null,
    hasChannel: query.has_go2rtc_channel ?? null,
    q: query.q ?? null,
  };
}

function pageOf(query: Query<'list_devices'>): DevicePage {
  return {
    sort: query.sort ?? 'created_at:asc',
    locales: localeChain(query.locale),
    limit: query.limit ?? 50,
    offset: query.offset ?? 0,
  };
}

function recordOf(device: Device, stampsOf: StampsOf): DeviceRecord {
  return {
    id: device.id,
    org_id: device.orgId,
    integration_id: device.integrationId,
    name: device.name,
    external_id: device.externalId,
    device_metadata: device.deviceMetadata,
    ...stampsOf(device),
  };
}

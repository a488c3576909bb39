import type { Device as DeviceRecord } from '@lintel/contract/devices';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import { localeChain } from './devices.rules.ts';
import type { DevicesService } from './devices.service.ts';
import type { Device } from './devices.store.ts';

export function deviceRoutes(devices: DevicesService): HandlersOf<'list_devices'> {
  return {
    list_devices: async ({ call, org, query }) => {
      const filters = {
        includeDeleted: query.include_deleted ?? false,
        onlyDeleted: query.only_deleted ?? false,
        integrationId: query.integration_id ?? null,
        q: query.q ?? null,
      };
      const page = {
        sort: query.sort ?? 'created_at:asc',
        locales: localeChain(query.locale),
        limit: query.limit ?? 50,
        offset: query.offset ?? 0,
      };
      const { items, total } = await devices.list(call, org, filters, page);
      return { items: items.map(toRecord), total };
    },
  };
}

function toRecord(device: Device): DeviceRecord {
  return {
    id: device.id,
    org_id: device.orgId,
    integration_id: device.integrationId,
    name: device.name,
    external_id: device.externalId,
    device_metadata: device.deviceMetadata,
    created_at: toRfc3339(device.createdAt),
    updated_at: toRfc3339(device.updatedAt),
    ...(device.deletedAt ? { deleted_at: toRfc3339(device.deletedAt) } : {}),
  };
}

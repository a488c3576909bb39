import type { Zone as ZoneRecord } from '@lintel/contract/zones';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { StampsOf } from '../../kernel/lifecycle.ts';
import type { ZonesService } from './zones.service.ts';
import type { Zone } from './zones.store.ts';

type ZoneIds =
  | 'create_zone'
  | 'get_zone'
  | 'update_zone'
  | 'delete_zone'
  | 'hard_delete_zone'
  | 'restore_zone'
  | 'list_integration_zones';

export function zoneRoutes(zones: ZonesService, stampsOf: StampsOf): HandlersOf<ZoneIds> {
  const toRecord = (zone: Zone) => recordOf(zone, stampsOf);
  return {
    create_zone: async ({ call, org, body }) => toRecord(await zones.create(call, org, body)),
    get_zone: async ({ call, org, params, query }) =>
      toRecord(await zones.get(call, org, params.id, query.include_deleted ?? false)),
    update_zone: async ({ call, org, params, body }) =>
      toRecord(await zones.update(call, org, params.id, body)),
    delete_zone: async ({ call, org, params }) => toRecord(await zones.remove(call, org, params.id)),
    hard_delete_zone: async ({ call, org, params }) => toRecord(await zones.purge(call, org, params.id)),
    restore_zone: async ({ call, org, params }) => toRecord(await zones.restore(call, org, params.id)),
    list_integration_zones: async ({ call, org, params, query }) => {
      const filters = {
        includeDeleted: query.include_deleted ?? false,
        onlyDeleted: query.only_deleted ?? false,
        integrationId: params.id,
      };
      const page = { limit: query.limit ?? 50, offset: query.offset ?? 0 };
      const { items, total } = await zones.list(call, org, filters, page);
      return { items: items.map(toRecord), total };
    },
  };
}

function recordOf(zone: Zone, stampsOf: StampsOf): ZoneRecord {
  return {
    id: zone.id,
    integration_id: zone.integrationId,
    name: zone.name,
    parent_zone_id: zone.parentZoneId,
    external_id: zone.externalId,
    ...stampsOf(zone),
  };
}

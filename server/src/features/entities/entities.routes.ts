import type { Entity as EntityRecord } from '@lintel/contract/entities';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import { parseEntityTypes } from './entities.rules.ts';
import type { EntitiesService } from './entities.service.ts';
import type { Entity } from './entities.store.ts';

export function entityRoutes(entities: EntitiesService): HandlersOf<'list_entities' | 'get_entity'> {
  return {
    list_entities: async ({ call, org, query }) => {
      const filters = {
        includeDeleted: query.include_deleted ?? false,
        onlyDeleted: query.only_deleted ?? false,
        zoneId: query.zone_id ?? null,
        entityTypes: parseEntityTypes(query.entity_type),
        q: query.q ?? null,
      };
      const page = {
        sort: query.sort ?? 'created_at:asc',
        limit: query.limit ?? 50,
        offset: query.offset ?? 0,
      };
      const { items, total } = await entities.list(call, org, filters, page);
      return { items: items.map(toRecord), total };
    },
    get_entity: async ({ call, org, params, query }) =>
      toRecord(await entities.get(call, org, params.id, query.include_deleted ?? false)),
  };
}

function toRecord(entity: Entity): EntityRecord {
  return {
    id: entity.id,
    device_id: entity.deviceId,
    entity_type: entity.entityType,
    name: entity.name,
    external_id: entity.externalId,
    zone_id: entity.zoneId,
    metadata: entity.metadata,
    entity_metadata: entity.metadata,
    state: stateOf(entity),
    created_at: toRfc3339(entity.createdAt),
    updated_at: toRfc3339(entity.updatedAt),
    ...(entity.deletedAt ? { deleted_at: toRfc3339(entity.deletedAt) } : {}),
  };
}

function stateOf({ status, stateSource, observedAt }: Entity): EntityRecord['state'] {
  if (status === null || stateSource === null || observedAt === null) return { status: 'unknown' };
  return { status, source: stateSource, observed_at: toRfc3339(observedAt) };
}

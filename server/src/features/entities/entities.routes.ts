import type { Entity as EntityRecord } from '@lintel/contract/entities';
import { toRfc3339 } from '../../kernel/clock.ts';
import type { HandlersOf } from '../../kernel/handler.ts';
import type { StampsOf } from '../../kernel/lifecycle.ts';
import { parseEntityTypes } from './entities.rules.ts';
import type { EntitiesService, ListFilters, MetadataDefinition } from './entities.service.ts';
import type { Entity, EntityPage, EntitySort } from './entities.store.ts';
import type { EntityEditingService } from './entity-editing.service.ts';
import type { PortalView } from './portal-entities.ts';

type ReadIds =
  | 'list_entities'
  | 'get_entity'
  | 'list_integration_entities'
  | 'list_device_entities'
  | 'get_entity_metadata_definition'
  | 'get_device_entity_metadata_definition';
type EditIds =
  | 'create_entity'
  | 'update_entity'
  | 'patch_entity'
  | 'delete_entity'
  | 'restore_entity'
  | 'hard_delete_entity';

type ToRecord = (entity: Entity) => EntityRecord;

export function entityRoutes(
  entities: EntitiesService,
  editing: EntityEditingService,
  stampsOf: StampsOf,
): HandlersOf<ReadIds | EditIds> {
  const toRecord: ToRecord = (entity) => recordOf(entity, stampsOf);
  return { ...readRoutes(entities, toRecord), ...editRoutes(editing, toRecord) };
}

function readRoutes(entities: EntitiesService, toRecord: ToRecord): HandlersOf<ReadIds> {
  const toPage = ({ items, total }: { items: readonly Entity[]; total: number }) => ({
    items: items.map(toRecord),
    total,
  });
  return {
    list_entities: async ({ call, org, query }) => {
      const filters = { ...filtersOf(query), zoneId: query.zone_id ?? null, q: query.q ?? null };
      return toPage(await entities.list(call, org, filters, pageOf(query)));
    },
    get_entity: async ({ call, org, params, query }) =>
      toRecord(await entities.get(call, org, params.id, query.include_deleted ?? false)),
    list_integration_entities: async ({ call, org, params, query }) =>
      toPage(await entities.listOfIntegration(call, org, params.id, filtersOf(query), pageOf(query))),
    list_device_entities: async ({ call, org, params, query }) =>
      toPage(await entities.listOfDevice(call, org, params.device_id, filtersOf(query), pageOf(query))),
    get_entity_metadata_definition: async ({ call, org, params }) =>
      toDefinition(await entities.metadataDefinition(call, org, params.id)),
    get_device_entity_metadata_definition: async ({ call, org, params, query }) =>
      toDefinition(await entities.newMetadataDefinition(call, org, params.device_id, query.entity_type)),
  };
}

function editRoutes(editing: EntityEditingService, toRecord: ToRecord): HandlersOf<EditIds> {
  return {
    create_entity: async ({ call, org, body }) => toRecord(await editing.create(call, org, body)),
    update_entity: async ({ call, org, params, body }) =>
      toRecord(await editing.update(call, org, params.id, body)),
    patch_entity: async ({ call, org, params, body }) =>
      toRecord(await editing.patch(call, org, params.id, body)),
    delete_entity: async ({ call, org, params }) => toRecord(await editing.remove(call, org, params.id)),
    restore_entity: async ({ call, org, params }) => toRecord(await editing.restore(call, org, params.id)),
    hard_delete_entity: async ({ call, org, params }) => toRecord(await editing.purge(call, org, params.id)),
  };
}

function toDefinition({ providerType, entityType, schema, data }: MetadataDefinition) {
  return { provider_type: providerType, entity_type: entityType, schema, data };
}

interface ListQuery {
  readonly include_deleted?: boolean;
  readonly only_deleted?: boolean;
  readonly entity_type?: string;
  readonly sort?: EntitySort;
  readonly limit?: number;
  readonly offset?: number;
}

function filtersOf(query: ListQuery): ListFilters {
  return {
    includeDeleted: query.include_deleted ?? false,
    onlyDeleted: query.only_deleted ?? false,
    zoneId: null,
    entityTypes: parseEntityTypes(query.entity_type),
    q: null,
  };
}

function pageOf(query: ListQuery): EntityPage {
  return { sort: query.sort ?? 'created_at:asc', limit: query.limit ?? 50, offset: query.offset ?? 0 };
}

function recordOf(entity: Entity, stampsOf: StampsOf): EntityRecord {
  return {
    id: entity.id,
    device_id: entity.deviceId,
    entity_type: entity.entityType,
    name: entity.name,
    external_id: entity.externalId,
    zone_id: entity.zoneId,
    metadata: entity.metadata,
    entity_metadata: entity.metadata,
    ...(entity.portal && { entry_kind: entity.portal.entryKind }),
    state: entity.portal ? portalStateOf(entity.portal) : stateOf(entity),
    ...stampsOf(entity),
  };
}

function portalStateOf({ state }: PortalView): EntityRecord['state'] {
  if (!('observedAt' in state)) return state;
  return { status: state.status, source: state.source, observed_at: toRfc3339(state.observedAt) };
}

function stateOf({ status, stateSource, observedAt }: Entity): EntityRecord['state'] {
  if (status === null || stateSource === null || observedAt === null) return { status: 'unknown' };
  return { status, source: stateSource, observed_at: toRfc3339(observedAt) };
}

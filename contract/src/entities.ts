import { type Static, Type } from 'typebox';
import {
  Closed,
  deletionOptions,
  IdParams,
  includeDeleted,
  lifecycle,
  Nullable,
  OptionalNullable,
  Page,
  PathId,
  pagination,
  Response,
  Timestamp,
  Ulid,
} from './common.ts';
import { defineOperation } from './operation.ts';

export const entityTypes = ['switch', 'light', 'sensor', 'door', 'directory_listing'] as const;
export type EntityType = (typeof entityTypes)[number];

const EntityTypeName = Type.Unsafe<EntityType>({ type: 'string', enum: [...entityTypes] });

export const EntityState = Response('EntityState', {
  status: Type.Unsafe<'open' | 'closed' | 'unknown' | 'invalid'>({
    type: 'string',
    enum: ['open', 'closed', 'unknown', 'invalid'],
  }),
  source: Type.Optional(Type.String({ description: 'Who observed it' })),
  observed_at: Type.Optional(Timestamp),
  reason: Type.Optional(Type.String()),
});

export const Entity = Response('EntityResponse', {
  id: Ulid,
  device_id: Ulid,
  entity_type: EntityTypeName,
  name: Nullable(Type.String()),
  external_id: Nullable(Type.String()),
  zone_id: Nullable(Ulid),
  metadata: Type.Record(Type.String(), Type.String()),
  entity_metadata: Type.Record(Type.String(), Type.String(), { description: 'The same as metadata' }),
  entry_kind: Type.Optional(Type.String()),
  state: EntityState,
  ...lifecycle,
});
export type Entity = Static<typeof Entity>;

export const EntityMetadataDefinition = Response('EntityMetadataDefinitionResponse', {
  provider_type: Type.String(),
  entity_type: EntityTypeName,
  schema: Type.Record(Type.String(), Type.Unknown(), { description: 'A JSON Schema' }),
  data: Type.Record(Type.String(), Type.String(), { description: 'The metadata as they are' }),
});

export const listSort = Type.Optional(
  Type.Unsafe<'name:asc' | 'name:desc' | 'created_at:asc' | 'created_at:desc'>({
    type: 'string',
    enum: ['name:asc', 'name:desc', 'created_at:asc', 'created_at:desc'],
  }),
);

const typeFilter = Type.Optional(
  Type.String({ maxLength: 200, description: 'One type, or several with commas' }),
);

const name = OptionalNullable(
  Type.String({ maxLength: 1000, description: 'Null and an empty text are no name' }),
);
const zoneId = OptionalNullable(Ulid);
export const externalIdInput = OptionalNullable(
  Type.String({ maxLength: 255, description: 'What the provider calls it; null for none' }),
);
const channelIndex = OptionalNullable(
  Type.Integer({ minimum: 0, maximum: 65_535, description: 'Kept as `channel_index` of the metadata' }),
);
const metadataMembers = Type.Record(Type.String(), Type.Unknown(), {
  description: 'What is no text is stored as its JSON text; a null member is left out.',
});

export const CreateEntityRequest = Closed('CreateEntityRequest', {
  device_id: Ulid,
  entity_type: EntityTypeName,
  name,
  external_id: externalIdInput,
  zone_id: zoneId,
  channel_index: channelIndex,
  metadata: OptionalNullable(metadataMembers),
});
export type CreateEntityRequest = Static<typeof CreateEntityRequest>;

export const UpdateEntityRequest = Closed('UpdateEntityRequest', {
  name,
  zone_id: zoneId,
  external_id: externalIdInput,
  entity_type: Type.Optional(EntityTypeName),
  channel_index: channelIndex,
  metadata: OptionalNullable(metadataMembers),
});
export type UpdateEntityRequest = Static<typeof UpdateEntityRequest>;

export const PatchEntityRequest = Closed('PatchEntityRequest', {
  metadata: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Merged member by member; null removes one.',
  }),
});
export type PatchEntityRequest = Static<typeof PatchEntityRequest>;

const entityOperation = { tag: 'Entities', auth: 'principal', agents: true } as const;
const editing = { ...entityOperation, agents: false, org: 'header' } as const;
const onEntity = { ...editing, params: IdParams, responses: { 200: Entity } } as const;

export const entityOperations = [
  defineOperation({
    ...entityOperation,
    id: 'list_entities',
    method: 'GET',
    path: '/entities',
    summary: 'List entities: doors, lights, switches, sensors',
    description: 'A key or agent limited to certain entities sees those only.',
    org: 'header',
    role: 'entities:list',
    query: Type.Object({
      ...pagination,
      ...deletionOptions,
      zone_id: Type.Optional(PathId),
      entity_type: typeFilter,
      q: Type.Optional(Type.String({ maxLength: 200, description: 'Case-insensitive part of the name' })),
      sort: listSort,
    }),
    responses: { 200: Page(Entity) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...entityOperation,
    id: 'get_entity',
    method: 'GET',
    path: '/entities/{id}',
    summary: 'Read an entity',
    org: 'header',
    role: 'entities:read',
    params: IdParams,
    query: Type.Object({ ...includeDeleted }),
    responses: { 200: Entity },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...editing,
    id: 'list_integration_entities',
    method: 'GET',
    path: '/integrations/{id}/entities',
    summary: 'List the entities of an integration',
    role: 'entities:list',
    params: IdParams,
    query: Type.Object({ ...pagination, ...deletionOptions, entity_type: typeFilter }),
    responses: { 200: Page(Entity) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...editing,
    id: 'list_device_entities',
    method: 'GET',
    path: '/devices/{device_id}/entities',
    summary: 'List the entities of a device',
    role: 'entities:list',
    params: Type.Object({ device_id: PathId }),
    query: Type.Object({ ...pagination, ...deletionOptions, entity_type: typeFilter }),
    responses: { 200: Page(Entity) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...editing,
    id: 'get_device_entity_metadata_definition',
    method: 'GET',
    path: '/devices/{device_id}/entities/metadata-definition',
    summary: 'The JSON Schema of the metadata of a new entity',
    role: 'entities:read',
    params: Type.Object({ device_id: PathId }),
    query: Type.Object({ entity_type: EntityTypeName }),
    responses: { 200: EntityMetadataDefinition },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...editing,
    id: 'get_entity_metadata_definition',
    method: 'GET',
    path: '/entities/{id}/metadata-definition',
    summary: 'The JSON Schema of an entity’s metadata, with what they are',
    role: 'entities:read',
    params: IdParams,
    responses: { 200: EntityMetadataDefinition },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...editing,
    id: 'create_entity',
    method: 'POST',
    path: '/entities',
    summary: 'Create an entity of a device',
    role: 'entities:create',
    body: CreateEntityRequest,
    responses: { 201: Entity },
    errors: ['already_exists', 'quota_exceeded'],
    audit: 'entity.created',
  }),
  defineOperation({
    ...onEntity,
    id: 'update_entity',
    method: 'PUT',
    path: '/entities/{id}',
    summary: 'Change an entity',
    description: 'What is left out stays, null clears, everything else replaces, the metadata as a whole.',
    role: 'entities:update',
    body: UpdateEntityRequest,
    errors: ['already_exists'],
    audit: 'entity.updated',
  }),
  defineOperation({
    ...onEntity,
    id: 'patch_entity',
    method: 'PATCH',
    path: '/entities/{id}',
    summary: 'Change single members of the metadata',
    role: 'entities:update',
    body: PatchEntityRequest,
    errors: [],
    audit: 'entity.updated',
  }),
  defineOperation({
    ...onEntity,
    id: 'delete_entity',
    method: 'DELETE',
    path: '/entities/{id}',
    summary: 'Soft-delete an entity',
    role: 'entities:delete',
    errors: [],
    audit: 'entity.deleted',
  }),
  defineOperation({
    ...onEntity,
    id: 'restore_entity',
    method: 'POST',
    path: '/entities/{id}/restore',
    summary: 'Restore a deleted entity',
    role: 'entities:delete',
    errors: ['not_deleted', 'parent_deleted', 'already_exists', 'quota_exceeded'],
    audit: 'entity.restored',
  }),
  defineOperation({
    ...onEntity,
    id: 'hard_delete_entity',
    method: 'DELETE',
    path: '/entities/{id}/purge',
    summary: 'Remove an entity and what was last seen of it for good',
    role: 'entities:delete',
    errors: [],
    audit: 'entity.purged',
  }),
] as const;

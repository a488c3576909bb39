import { type Static, Type } from 'typebox';
import {
  deletionOptions,
  IdParams,
  includeDeleted,
  lifecycle,
  Nullable,
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
  entity_type: Type.Unsafe<EntityType>({ type: 'string', enum: [...entityTypes] }),
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

export const listSort = Type.Optional(
  Type.Unsafe<'name:asc' | 'name:desc' | 'created_at:asc' | 'created_at:desc'>({
    type: 'string',
    enum: ['name:asc', 'name:desc', 'created_at:asc', 'created_at:desc'],
  }),
);

const entityOperation = { tag: 'Entities', auth: 'principal', agents: true } as const;

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
      entity_type: Type.Optional(
        Type.String({ maxLength: 200, description: 'One type, or several with commas' }),
      ),
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
] as const;

import { type Static, Type } from 'typebox';
import {
  Closed,
  deletionOptions,
  IdParams,
  includeDeleted,
  LocalizedText,
  LocalizedTextInput,
  lifecycle,
  Nullable,
  OptionalNullable,
  Page,
  pagination,
  Response,
  Ulid,
} from './common.ts';
import { externalIdInput } from './entities.ts';
import { defineOperation } from './operation.ts';

export const Zone = Response('ZoneResponse', {
  id: Ulid,
  integration_id: Ulid,
  name: LocalizedText,
  parent_zone_id: Nullable(Ulid),
  external_id: Nullable(Type.String()),
  ...lifecycle,
});
export type Zone = Static<typeof Zone>;

export const CreateZoneRequest = Closed('CreateZoneRequest', {
  integration_id: Ulid,
  name: LocalizedTextInput,
  parent_zone_id: OptionalNullable(Ulid),
  external_id: externalIdInput,
});
export type CreateZoneRequest = Static<typeof CreateZoneRequest>;

export const UpdateZoneRequest = Closed('UpdateZoneRequest', {
  name: OptionalNullable(LocalizedTextInput),
  parent_zone_id: OptionalNullable(Ulid),
  external_id: externalIdInput,
});
export type UpdateZoneRequest = Static<typeof UpdateZoneRequest>;

const zoneOperation = { tag: 'Zones', auth: 'principal', agents: false, org: 'header' } as const;
const onZone = { ...zoneOperation, params: IdParams, responses: { 200: Zone } } as const;

export const zoneOperations = [
  defineOperation({
    ...zoneOperation,
    id: 'create_zone',
    method: 'POST',
    path: '/zones',
    summary: 'Create a zone in an integration',
    role: 'zones:create',
    body: CreateZoneRequest,
    responses: { 201: Zone },
    errors: ['already_exists', 'quota_exceeded'],
    audit: 'zone.created',
  }),
  defineOperation({
    ...onZone,
    id: 'get_zone',
    method: 'GET',
    path: '/zones/{id}',
    summary: 'Read a zone',
    role: 'zones:read',
    query: Type.Object({ ...includeDeleted }),
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...onZone,
    id: 'update_zone',
    method: 'PUT',
    path: '/zones/{id}',
    summary: 'Change a zone, or move it below another of its integration',
    description: 'What is left out stays; null clears the parent and the external id.',
    role: 'zones:update',
    body: UpdateZoneRequest,
    errors: ['already_exists'],
    audit: 'zone.updated',
  }),
  defineOperation({
    ...onZone,
    id: 'delete_zone',
    method: 'DELETE',
    path: '/zones/{id}',
    summary: 'Soft-delete a zone without zones and entities in it',
    role: 'zones:delete',
    errors: ['has_children'],
    audit: 'zone.deleted',
  }),
  defineOperation({
    ...onZone,
    id: 'hard_delete_zone',
    method: 'DELETE',
    path: '/zones/{id}/purge',
    summary: 'Remove a zone for good',
    description: 'Deleted zones and entities that were in it are in no zone afterwards.',
    role: 'zones:delete',
    errors: ['has_children'],
    audit: 'zone.purged',
  }),
  defineOperation({
    ...onZone,
    id: 'restore_zone',
    method: 'POST',
    path: '/zones/{id}/restore',
    summary: 'Restore a deleted zone',
    role: 'zones:delete',
    errors: ['not_deleted', 'parent_deleted', 'already_exists', 'quota_exceeded'],
    audit: 'zone.restored',
  }),
  defineOperation({
    ...zoneOperation,
    id: 'list_integration_zones',
    method: 'GET',
    path: '/integrations/{id}/zones',
    summary: 'List the zones of an integration',
    description: 'A key limited to certain entities sees the zones those are in.',
    role: 'zones:list',
    params: IdParams,
    query: Type.Object({ ...pagination, ...deletionOptions }),
    responses: { 200: Page(Zone) },
    errors: [],
    audit: null,
  }),
] as const;

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
  PathId,
  pagination,
  Response,
  Ulid,
} from './common.ts';
import { externalIdInput, listSort } from './entities.ts';
import { defineOperation } from './operation.ts';

export const Device = Response('DeviceResponse', {
  id: Ulid,
  org_id: Ulid,
  integration_id: Ulid,
  name: LocalizedText,
  external_id: Nullable(Type.String()),
  device_metadata: Type.Record(Type.String(), Type.Unknown()),
  ...lifecycle,
});
export type Device = Static<typeof Device>;

const deviceMetadata = OptionalNullable(
  Type.Record(Type.String(), Type.Unknown(), {
    description:
      'What the provider needs to know; the members are its own. `auto_close` and `kind` always fit.',
  }),
);

export const CreateDeviceRequest = Closed('CreateDeviceRequest', {
  org_id: Ulid,
  integration_id: Ulid,
  name: LocalizedTextInput,
  external_id: externalIdInput,
  device_metadata: deviceMetadata,
});
export type CreateDeviceRequest = Static<typeof CreateDeviceRequest>;

export const UpdateDeviceRequest = Closed('UpdateDeviceRequest', {
  name: OptionalNullable(LocalizedTextInput),
  external_id: externalIdInput,
  device_metadata: deviceMetadata,
});
export type UpdateDeviceRequest = Static<typeof UpdateDeviceRequest>;

export const DeviceMetadataDefinition = Response('DeviceMetadataDefinitionResponse', {
  provider_type: Type.String(),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: 'A JSON Schema' }),
  data: Type.Record(Type.String(), Type.Unknown(), { description: 'The metadata as they are' }),
});

const recursive = Type.Object({
  recursive: Type.Optional(Type.Boolean({ default: false, description: 'Its entities first' })),
});

const deviceOperation = { tag: 'Devices', auth: 'principal', agents: false, org: 'header' } as const;
const policyRights =
  'that takes the role policies:manage and, where the device has a steward, to be that or an administrator where the ' +
  'stewardship is held';
const onDevice = { ...deviceOperation, params: IdParams, responses: { 200: Device } } as const;

export const deviceOperations = [
  defineOperation({
    ...deviceOperation,
    id: 'list_devices',
    method: 'GET',
    path: '/devices',
    summary: 'List devices',
    role: 'devices:list',
    query: Type.Object({
      ...pagination,
      ...deletionOptions,
      integration_id: Type.Optional(PathId),
      device_kind: Type.Optional(
        Type.String({ maxLength: 200, description: 'The `kind` in the device’s metadata' }),
      ),
      external_id: Type.Optional(Type.String({ maxLength: 255 })),
      has_external_id: Type.Optional(Type.Boolean()),
      has_go2rtc_channel: Type.Optional(
        Type.Boolean({ description: 'Whether the metadata name a channel of a recorder' }),
      ),
      q: Type.Optional(Type.String({ maxLength: 200 })),
      sort: listSort,
      locale: Type.Optional(
        Type.String({ maxLength: 35, description: 'For sorting by name; en unless given' }),
      ),
    }),
    responses: { 200: Page(Device) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...deviceOperation,
    id: 'create_device',
    method: 'POST',
    path: '/devices',
    summary: 'Create a device in an integration',
    role: 'devices:create',
    body: CreateDeviceRequest,
    responses: { 201: Device },
    errors: ['already_exists', 'quota_exceeded'],
    audit: 'device.created',
  }),
  defineOperation({
    ...onDevice,
    id: 'get_device',
    method: 'GET',
    path: '/devices/{id}',
    summary: 'Read a device',
    role: 'devices:read',
    query: Type.Object({ ...includeDeleted }),
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...onDevice,
    id: 'get_device_metadata_definition',
    method: 'GET',
    path: '/devices/{id}/metadata-definition',
    summary: 'The JSON Schema of a device’s metadata, with what they are',
    role: 'devices:read',
    responses: { 200: DeviceMetadataDefinition },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...onDevice,
    id: 'update_device',
    method: 'PUT',
    path: '/devices/{id}',
    summary: 'Change a device',
    description:
      'What is left out stays; null clears the external id and the metadata; an object replaces. A device that has ' +
      `policies takes them along when it becomes other hardware: ${policyRights}.`,
    role: 'devices:update',
    body: UpdateDeviceRequest,
    errors: ['already_exists'],
    audit: 'device.updated',
  }),
  defineOperation({
    ...onDevice,
    id: 'delete_device',
    method: 'DELETE',
    path: '/devices/{id}',
    summary: 'Soft-delete a device',
    role: 'devices:delete',
    query: recursive,
    errors: ['has_children'],
    audit: 'device.deleted',
  }),
  defineOperation({
    ...onDevice,
    id: 'restore_device',
    method: 'POST',
    path: '/devices/{id}/restore',
    summary: 'Restore a deleted device; entities deleted with it are restored on their own',
    role: 'devices:delete',
    errors: ['not_deleted', 'parent_deleted', 'already_exists', 'quota_exceeded'],
    audit: 'device.restored',
  }),
  defineOperation({
    ...onDevice,
    id: 'hard_delete_device',
    method: 'DELETE',
    path: '/devices/{id}/purge',
    summary: 'Remove a device for good',
    description:
      'Deleted entities count as well: without `recursive` it must have none at all. A device that has policies takes ' +
      `them along: ${policyRights}.`,
    role: 'devices:delete',
    query: recursive,
    errors: ['has_children'],
    audit: 'device.purged',
  }),
] as const;

import { type Static, Type } from 'typebox';
import {
  deletionOptions,
  LocalizedText,
  lifecycle,
  Nullable,
  Page,
  PathId,
  pagination,
  Response,
  Ulid,
} from './common.ts';
import { listSort } from './entities.ts';
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

export const deviceOperations = [
  defineOperation({
    id: 'list_devices',
    method: 'GET',
    path: '/devices',
    tag: 'Devices',
    summary: 'List devices',
    auth: 'principal',
    agents: false,
    org: 'header',
    role: 'devices:list',
    query: Type.Object({
      ...pagination,
      ...deletionOptions,
      integration_id: Type.Optional(PathId),
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
] as const;

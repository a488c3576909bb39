import { type Static, Type } from 'typebox';
import { Closed, IdParams, Response, Ulid } from './common.ts';
import { defineOperation } from './operation.ts';
import type { PlainRole } from './roles.ts';

export const imageKinds = ['device', 'entity', 'integration', 'user', 'org'] as const;
export type ImageKind = (typeof imageKinds)[number];

/** Those whose image can be taken over from another record of the kind. */
export type CopiedImageKind = 'device' | 'entity' | 'integration';

export const imageSizes = ['full', 'thumb'] as const;
export type ImageSize = (typeof imageSizes)[number];

export const ResourceImageUrl = Response('ResourceImageUrlResponse', {
  url: Type.String({ description: 'A signed address that needs no credential, until it expires' }),
  expires_in_seconds: Type.Integer({ minimum: 0 }),
});
export type ResourceImageUrl = Static<typeof ResourceImageUrl>;

const size = Type.Optional(
  Type.Unsafe<ImageSize>({
    type: 'string',
    enum: [...imageSizes],
    default: 'full',
    description: '`full` is at most 2048 pixels wide and high, `thumb` 256',
  }),
);

const upload = {
  maxBytes: 10 * 1_048_576,
  mediaTypes: ['image/jpeg', 'image/png', 'image/webp'],
} as const;

const uploadText =
  'One image at most of each record: a new one takes the place of the old. At most 10 MiB and 25 megapixels, not ' +
  'animated. It is stored as WebP made from the pixels alone: place, camera and all other metadata are left out.';

/** Where the record's own operations find their organization. */
interface Base {
  readonly org: 'header' | 'path';
  readonly orgParam?: string;
}

const inHeader = { org: 'header' } as const;
const inPath = { org: 'path', orgParam: 'id' } as const;

function operationsOn<
  Kind extends ImageKind,
  Path extends `/${string}`,
  Read extends PlainRole,
  Update extends PlainRole,
  Org extends Base,
>(kind: Kind, path: Path, org: Org, read: Read, update: Update) {
  const base = {
    ...org,
    tag: 'Images',
    auth: 'principal',
    agents: false,
    path,
    params: IdParams,
  } as const;
  const noun = `the image of ${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind === 'org' ? 'organization' : kind}`;
  return [
    defineOperation({
      ...base,
      id: `get_${kind}_image` as `get_${Kind}_image`,
      method: 'GET',
      summary: `Read the address of ${noun}; 204 without one`,
      role: read,
      query: Type.Object({ size }),
      responses: { 200: ResourceImageUrl, 204: null },
      errors: [],
      audit: null,
    }),
    defineOperation({
      ...base,
      id: `post_${kind}_image` as `post_${Kind}_image`,
      method: 'POST',
      summary: `Upload ${noun}`,
      description: uploadText,
      role: update,
      upload,
      responses: { 200: ResourceImageUrl },
      errors: ['payload_too_large', 'unsupported_media_type'],
      audit: 'image.uploaded',
    }),
    defineOperation({
      ...base,
      id: `delete_${kind}_image` as `delete_${Kind}_image`,
      method: 'DELETE',
      summary: `Delete ${noun}, if there is one`,
      role: update,
      responses: { 204: null },
      errors: [],
      audit: 'image.deleted',
    }),
  ] as const;
}

export const CopyDeviceImageRequest = Closed('CopyDeviceImageRequest', { source_device_id: Ulid });
export const CopyEntityImageRequest = Closed('CopyEntityImageRequest', { source_entity_id: Ulid });
export const CopyIntegrationImageRequest = Closed('CopyIntegrationImageRequest', {
  source_integration_id: Ulid,
});

const copy = {
  ...inHeader,
  tag: 'Images',
  auth: 'principal',
  agents: false,
  method: 'POST',
  description:
    'The source belongs to the same organization and has an image, otherwise 404. Afterwards the two have nothing to do ' +
    'with each other.',
  params: IdParams,
  responses: { 200: ResourceImageUrl },
  errors: [],
  audit: 'image.uploaded',
} as const;

const copyOperations = [
  defineOperation({
    ...copy,
    id: 'post_device_image_copy_from',
    path: '/devices/{id}/image/copy-from',
    summary: 'Give a device the image of another',
    role: 'devices:update',
    body: CopyDeviceImageRequest,
  }),
  defineOperation({
    ...copy,
    id: 'post_entity_image_copy_from',
    path: '/entities/{id}/image/copy-from',
    summary: 'Give an entity the image of another',
    role: 'entities:update',
    body: CopyEntityImageRequest,
  }),
  defineOperation({
    ...copy,
    id: 'post_integration_image_copy_from',
    path: '/integrations/{id}/image/copy-from',
    summary: 'Give an integration the image of another',
    role: 'integrations:update',
    body: CopyIntegrationImageRequest,
  }),
] as const;

export const imageOperations = [
  ...operationsOn('device', '/devices/{id}/image', inHeader, 'devices:read', 'devices:update'),
  ...operationsOn('entity', '/entities/{id}/image', inHeader, 'entities:read', 'entities:update'),
  ...operationsOn(
    'integration',
    '/integrations/{id}/image',
    inHeader,
    'integrations:read',
    'integrations:update',
  ),
  ...operationsOn('user', '/users/{id}/image', inHeader, 'users:read', 'users:update'),
  ...operationsOn('org', '/orgs/{id}/image', inPath, 'orgs:read', 'orgs:update'),
  ...copyOperations,
] as const;

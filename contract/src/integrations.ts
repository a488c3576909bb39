import { type Static, Type } from 'typebox';
import {
  Closed,
  deletionOptions,
  IdParams,
  includeDeleted,
  LocalizedText,
  LocalizedTextInput,
  lifecycle,
  OptionalNullable,
  Page,
  PathId,
  pagination,
  Response,
  Ulid,
} from './common.ts';
import { IntegrationOp } from './integration-ops.ts';
import { defineOperation } from './operation.ts';

export const Integration = Response('IntegrationResponse', {
  id: Ulid,
  org_id: Ulid,
  provider_type: Type.String(),
  provider_type_name: LocalizedText,
  name: LocalizedText,
  enabled: Type.Boolean(),
  health: Type.Unsafe<'ok' | 'reduced' | 'error'>({ type: 'string', enum: ['ok', 'reduced', 'error'] }),
  config: Type.Record(Type.String(), Type.Unknown()),
  ...lifecycle,
});
export type Integration = Static<typeof Integration>;

const providerType = Type.String({ minLength: 1, maxLength: 64 });
const config = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Settings that are no secret; the provider’s definition says which there are.',
});
const secretValues = Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 16_384 }), {
  description: 'Kept in a store of their own and shown by no other operation than get_integration_secrets.',
});

export const CreateIntegrationRequest = Closed('CreateIntegrationRequest', {
  org_id: OptionalNullable(Ulid),
  provider_type: providerType,
  name: OptionalNullable(LocalizedTextInput),
  enabled: OptionalNullable(Type.Boolean({ default: true })),
  config: OptionalNullable(config),
  secrets: OptionalNullable(secretValues),
});
export type CreateIntegrationRequest = Static<typeof CreateIntegrationRequest>;

export const UpdateIntegrationRequest = Closed('UpdateIntegrationRequest', {
  name: OptionalNullable(LocalizedTextInput),
  enabled: OptionalNullable(Type.Boolean()),
  provider_type: OptionalNullable(providerType),
  config: OptionalNullable(config),
  secrets: OptionalNullable(secretValues),
});
export type UpdateIntegrationRequest = Static<typeof UpdateIntegrationRequest>;

export const ProviderType = Response('ProviderTypeResponse', {
  provider_type: Type.String(),
  provider_type_name: LocalizedText,
});

const schema = Type.Record(Type.String(), Type.Unknown(), { description: 'A JSON Schema' });
const externalIdRule = Type.Unsafe<'required' | 'optional' | 'refused'>({
  type: 'string',
  enum: ['required', 'optional', 'refused'],
});

export const ProviderDefinition = Response('ProviderDefinitionResponse', {
  provider_type: Type.String(),
  provider_type_name: LocalizedText,
  config_schema: schema,
  secrets_schema: schema,
  device_metadata_schema: schema,
  entity_metadata_schema: schema,
  actions: Type.Array(
    Type.Unsafe<'open' | 'close' | 'toggle'>({ type: 'string', enum: ['open', 'close', 'toggle'] }),
  ),
  device_external_id: externalIdRule,
  entity_external_id: externalIdRule,
  device_external_id_pattern: Type.Optional(Type.String({ description: 'A regular expression' })),
  entity_external_id_pattern: Type.Optional(Type.String({ description: 'A regular expression' })),
  default_min_interval_ms: Type.Integer({ minimum: 0 }),
  ops: Type.Array(IntegrationOp),
  discovered_as: Type.Optional(
    Type.String({ description: 'Where the id of a discovered device goes, as `device.external_id`' }),
  ),
});
export type ProviderDefinition = Static<typeof ProviderDefinition>;

const recursive = Type.Object({
  recursive: Type.Optional(
    Type.Boolean({ default: false, description: 'Its zones, devices and entities along with it' }),
  ),
});

const integrationOperation = {
  tag: 'Integrations',
  auth: 'principal',
  agents: false,
  org: 'header',
} as const;
const onIntegration = {
  ...integrationOperation,
  params: IdParams,
  responses: { 200: Integration },
} as const;
const aboutProviders = {
  ...integrationOperation,
  org: 'none',
  role: { rule: 'anybody with a credential: it is the same for all organizations' },
  method: 'GET',
  errors: [],
  audit: null,
} as const;

export const integrationOperations = [
  defineOperation({
    ...integrationOperation,
    id: 'list_integrations',
    method: 'GET',
    path: '/integrations',
    summary: 'List integrations; secrets are never included',
    role: 'integrations:list',
    query: Type.Object({
      ...pagination,
      ...deletionOptions,
      provider_type: Type.Optional(Type.String({ maxLength: 64 })),
      q: Type.Optional(Type.String({ maxLength: 200 })),
    }),
    responses: { 200: Page(Integration) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...integrationOperation,
    id: 'create_integration',
    method: 'POST',
    path: '/integrations',
    summary: 'Create an integration',
    description: 'Config and secrets are checked against the provider’s definition.',
    role: 'integrations:create',
    body: CreateIntegrationRequest,
    responses: { 201: Integration },
    errors: ['quota_exceeded'],
    audit: 'integration.created',
  }),
  defineOperation({
    ...aboutProviders,
    id: 'list_integration_provider_types',
    path: '/integrations/provider-types',
    summary: 'The kinds of providers there are',
    responses: { 200: Type.Array(ProviderType) },
  }),
  defineOperation({
    ...aboutProviders,
    id: 'get_integration_provider_definition',
    path: '/integrations/provider-types/{provider_type}/definition',
    summary: 'What a kind of provider needs and can do, with JSON Schemas',
    params: Type.Object({ provider_type: PathId }),
    responses: { 200: ProviderDefinition },
  }),
  defineOperation({
    ...onIntegration,
    id: 'get_integration',
    method: 'GET',
    path: '/integrations/{id}',
    summary: 'Read an integration; secrets are never included',
    role: 'integrations:read',
    query: Type.Object({ ...includeDeleted }),
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...onIntegration,
    id: 'update_integration',
    method: 'PUT',
    path: '/integrations/{id}',
    summary: 'Change an integration',
    description:
      'Config and secrets each: left out stays, null clears, an object replaces. A name of null is the provider’s. The kind of provider can not change.',
    role: 'integrations:update',
    body: UpdateIntegrationRequest,
    errors: [],
    audit: 'integration.updated',
  }),
  defineOperation({
    ...onIntegration,
    id: 'delete_integration',
    method: 'DELETE',
    path: '/integrations/{id}',
    summary: 'Soft-delete an integration; its secrets are kept for a restore',
    role: 'integrations:delete',
    query: recursive,
    errors: ['has_children'],
    audit: 'integration.deleted',
  }),
  defineOperation({
    ...onIntegration,
    id: 'restore_integration',
    method: 'POST',
    path: '/integrations/{id}/restore',
    summary: 'Restore a deleted integration; what was deleted with it is restored on its own',
    role: 'integrations:delete',
    errors: ['not_deleted', 'quota_exceeded'],
    audit: 'integration.restored',
  }),
  defineOperation({
    ...onIntegration,
    id: 'hard_delete_integration',
    method: 'DELETE',
    path: '/integrations/{id}/purge',
    summary: 'Remove an integration and its secrets for good',
    description:
      'Deleted parts count as well: without `recursive` it must have none at all. Devices that have policies go only by ' +
      'those who may purge them.',
    role: 'integrations:delete',
    query: recursive,
    errors: ['has_children'],
    audit: 'integration.purged',
  }),
  defineOperation({
    ...onIntegration,
    id: 'get_integration_secrets',
    method: 'GET',
    path: '/integrations/{id}/secrets',
    summary: 'Read the secrets of an integration; every read is audited',
    role: 'integrations:secrets',
    responses: { 200: secretValues },
    errors: [],
    audit: 'integration.secrets_read',
  }),
] as const;

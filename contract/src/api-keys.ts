import { type Static, Type } from 'typebox';
import {
  Closed,
  IdParams,
  Nullable,
  OptionalNullable,
  Page,
  pagination,
  Response,
  Timestamp,
  Ulid,
} from './common.ts';
import { defineOperation } from './operation.ts';

const expiry = {
  expires_at: OptionalNullable(Timestamp),
  expires_in: OptionalNullable(
    Type.String({ maxLength: 64, description: 'P1D, PT1H, 2h30m, 90d …; at most 3650d' }),
  ),
};

const keyFields = {
  id: Ulid,
  name: Type.String(),
  base_url: Type.String(),
  token_suffix: Type.String({ description: 'The last six characters of the secret' }),
  expires_at: Timestamp,
  created_at: Timestamp,
  scoped_roles: Nullable(Type.Array(Type.String())),
  scoped_entity_ids: Nullable(Type.Array(Ulid)),
};

export const ApiKeyListItem = Response('ApiKeyListItem', {
  ...keyFields,
  created_by_user_id: Ulid,
  agent_id: Nullable(Ulid),
  updated_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
});
export type ApiKeyListItem = Static<typeof ApiKeyListItem>;

export const CreateApiKeyRequest = Closed('CreateApiKeyRequest', {
  name: Type.String({ minLength: 1, maxLength: 120 }),
  ...expiry,
  scoped_roles: OptionalNullable(
    Type.Array(Type.String({ maxLength: 120 }), { maxItems: 100, uniqueItems: true }),
  ),
  scoped_entity_ids: OptionalNullable(Type.Array(Ulid, { maxItems: 1000, uniqueItems: true })),
});

export const CreateApiKeyResponse = Response('CreateApiKeyResponse', {
  ...keyFields,
  token: Type.String({ description: 'Shown once' }),
});

export const UpdateApiKeyRequest = Closed('UpdateApiKeyRequest', {
  name: Type.String({ minLength: 1, maxLength: 120 }),
  ...expiry,
});

const keyOperation = {
  tag: 'API keys',
  auth: 'principal',
  agents: false,
  org: 'principal',
  role: 'api_keys:create',
} as const;

export const apiKeyOperations = [
  defineOperation({
    ...keyOperation,
    id: 'list_api_keys',
    method: 'GET',
    path: '/api-keys',
    summary: 'List active and revoked keys',
    description: 'Administrators see every key of the organization, others their own.',
    query: Type.Object({ ...pagination }),
    responses: { 200: Page(ApiKeyListItem) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...keyOperation,
    id: 'create_api_key',
    method: 'POST',
    path: '/api-keys',
    summary: 'Create a key; the token is returned once',
    body: CreateApiKeyRequest,
    responses: { 201: CreateApiKeyResponse },
    errors: ['quota_exceeded'],
    audit: 'api_key.created',
  }),
  defineOperation({
    ...keyOperation,
    id: 'update_api_key',
    method: 'PATCH',
    path: '/api-keys/{id}',
    summary: 'Rename a key or change its expiry',
    params: IdParams,
    body: UpdateApiKeyRequest,
    responses: { 204: null },
    errors: ['agent_revoked'],
    audit: 'api_key.updated',
  }),
  defineOperation({
    ...keyOperation,
    id: 'revoke_api_key',
    method: 'DELETE',
    path: '/api-keys/{id}',
    summary: 'Revoke a key: it stops authenticating at once',
    params: IdParams,
    responses: { 204: null },
    errors: [],
    audit: 'api_key.revoked',
  }),
  defineOperation({
    ...keyOperation,
    id: 'restore_api_key',
    method: 'POST',
    path: '/api-keys/{id}/restore',
    summary: 'Re-enable a revoked, unexpired key',
    params: IdParams,
    responses: { 204: null },
    errors: ['key_not_revoked', 'key_expired', 'agent_revoked', 'quota_exceeded'],
    audit: 'api_key.restored',
  }),
  defineOperation({
    ...keyOperation,
    id: 'purge_api_key',
    method: 'DELETE',
    path: '/api-keys/{id}/purge',
    summary: 'Remove a revoked key for good',
    params: IdParams,
    responses: { 204: null },
    errors: ['key_not_revoked'],
    audit: 'api_key.purged',
  }),
] as const;

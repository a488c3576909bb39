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
  OrgIdParams,
  Page,
  PathId,
  pagination,
  Response,
  Ulid,
} from './common.ts';
import { defineOperation } from './operation.ts';

export const User = Response('UserResponse', {
  id: Ulid,
  name: LocalizedText,
  email: Type.String(),
  email_is_synthetic: Type.Boolean(),
  phone: Nullable(Type.String()),
  locale: Nullable(Type.String()),
  roles: Type.Record(Type.String(), Type.Array(Type.String()), {
    description: 'org id → roles, for the organization asked about and its descendants',
  }),
  ...lifecycle,
});
export type User = Static<typeof User>;

const roleMap = Type.Record(
  Type.String({ maxLength: 128 }),
  Type.Array(Type.String({ maxLength: 120 }), { maxItems: 200 }),
  {
    title: 'RoleMap',
    description: 'org id → role names',
  },
);
const phone = Type.String({ pattern: '^\\+[1-9][0-9]{4,14}$', description: 'E.164' });
const email = Type.String({ minLength: 3, maxLength: 254 });

export const CreateUserRequest = Closed('CreateUserRequest', {
  name: LocalizedTextInput,
  email: OptionalNullable(email),
  phone: OptionalNullable(phone),
  id: OptionalNullable(Ulid),
  password: OptionalNullable(Type.String({ minLength: 8, maxLength: 256 })),
  roles: OptionalNullable(roleMap),
});

export const UpdateUserRequest = Closed('UpdateUserRequest', {
  name: OptionalNullable(LocalizedTextInput),
  email: OptionalNullable(email),
  phone: OptionalNullable(phone),
});

const userOperation = { tag: 'Users', auth: 'principal', agents: false, org: 'header' } as const;

export const userOperations = [
  defineOperation({
    ...userOperation,
    id: 'create_user',
    method: 'POST',
    path: '/users',
    summary: 'Create a user with roles',
    description:
      'Without roles only a platform administrator may create one. Organization administrators usually invite people instead.',
    role: 'users:create',
    body: CreateUserRequest,
    responses: { 201: User },
    errors: ['already_exists', 'quota_exceeded'],
    audit: 'user.created',
  }),
  defineOperation({
    ...userOperation,
    id: 'search_users',
    org: 'principal',
    method: 'GET',
    path: '/users/search',
    summary: 'Search users by name or email',
    role: 'users:list',
    query: Type.Object({
      q: Type.Optional(Type.String({ maxLength: 200 })),
      org_id: Type.Optional(PathId),
      scope: Type.Optional(
        Type.Unsafe<'all'>({
          type: 'string',
          enum: ['all'],
          description: 'Everyone; needs users:list on the root organization',
        }),
      ),
      exclude_ids: Type.Optional(Type.String({ maxLength: 6000, description: 'Comma-separated user ids' })),
      ...pagination,
    }),
    responses: { 200: Page(User) },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...userOperation,
    id: 'get_user',
    method: 'GET',
    path: '/users/{id}',
    summary: 'Read a user',
    role: 'users:read',
    params: IdParams,
    query: Type.Object({ ...includeDeleted }),
    responses: { 200: User },
    errors: [],
    audit: null,
  }),
  defineOperation({
    ...userOperation,
    id: 'update_user',
    method: 'PUT',
    path: '/users/{id}',
    summary: 'Change a user',
    role: 'users:update',
    params: IdParams,
    body: UpdateUserRequest,
    responses: { 200: User },
    errors: ['already_exists', 'user_in_other_orgs'],
    audit: 'user.updated',
  }),
  defineOperation({
    ...userOperation,
    id: 'delete_user',
    method: 'DELETE',
    path: '/users/{id}',
    summary: 'Soft-delete a user: keys and sessions stop at once',
    role: 'users:delete',
    params: IdParams,
    responses: { 200: User },
    errors: ['last_admin', 'user_in_other_orgs'],
    audit: 'user.deleted',
  }),
  defineOperation({
    ...userOperation,
    id: 'restore_user',
    method: 'POST',
    path: '/users/{id}/restore',
    summary: 'Restore a deleted user',
    role: 'users:delete',
    params: IdParams,
    responses: { 200: User },
    errors: ['already_exists', 'not_deleted', 'quota_exceeded', 'user_in_other_orgs'],
    audit: 'user.restored',
  }),
  defineOperation({
    ...userOperation,
    id: 'hard_delete_user',
    method: 'DELETE',
    path: '/users/{id}/purge',
    summary: 'Remove a user for good, with their keys and agents; audit events stay',
    role: 'users:delete',
    params: IdParams,
    responses: { 200: User },
    errors: ['last_admin', 'user_in_other_orgs'],
    audit: 'user.purged',
  }),
  defineOperation({
    ...userOperation,
    id: 'add_roles',
    method: 'POST',
    path: '/users/{id}/roles',
    summary: 'Grant roles',
    description:
      'Needs users:create or admin in every organization named. Nobody grants what they do not hold.',
    role: 'member',
    params: IdParams,
    body: roleMap,
    responses: { 200: User },
    errors: ['quota_exceeded'],
    audit: 'user.roles_added',
  }),
  defineOperation({
    ...userOperation,
    id: 'delete_roles',
    method: 'DELETE',
    path: '/users/{id}/roles',
    summary: 'Take roles away',
    role: { rule: 'users:create or admin in every organization named' },
    params: IdParams,
    body: roleMap,
    responses: { 200: User },
    errors: ['last_admin'],
    audit: 'user.roles_removed',
  }),
  defineOperation({
    ...userOperation,
    id: 'list_org_users',
    org: 'path',
    orgParam: 'org_id',
    method: 'GET',
    path: '/orgs/{org_id}/users',
    summary: 'The users of an organization',
    role: 'users:list',
    params: OrgIdParams,
    query: Type.Object({
      ...pagination,
      ...deletionOptions,
      recursive: Type.Optional(
        Type.Boolean({ default: false, description: 'Include descendants; needs admin' }),
      ),
    }),
    responses: { 200: Page(User) },
    errors: [],
    audit: null,
  }),
] as const;

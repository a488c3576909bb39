import { Type } from 'typebox';
import { Closed, LocalizedText, LocalizedTextInput, Nullable, Response, Timestamp, Ulid } from './common.ts';
import { defineOperation } from './operation.ts';

export const MeProfile = Response('MeProfile', {
  principal_kind: Type.Union([Type.Literal('user'), Type.Literal('api_key'), Type.Literal('agent')]),
  user_id: Ulid,
  name: LocalizedText,
  email: Type.String(),
  locale: Nullable(Type.String()),
  org_id: Nullable(Ulid),
  agent_id: Nullable(Ulid),
  api_key_id: Nullable(Ulid),
  api_key_expires_at: Nullable(Timestamp),
  roles: Type.Record(Type.String(), Type.Array(Type.String()), {
    description: 'org id → effective roles granted there',
  }),
});

export const meOperations = [
  defineOperation({
    id: 'get_me_profile',
    method: 'GET',
    path: '/me/profile',
    tag: 'Me',
    summary: 'Who the caller is: for sessions, keys and agents alike',
    auth: 'principal',
    agents: true,
    org: 'none',
    role: { rule: 'the caller, about themselves' },
    responses: { 200: MeProfile },
    errors: [],
    audit: null,
  }),
  defineOperation({
    id: 'patch_me_profile',
    method: 'PATCH',
    path: '/me/profile',
    tag: 'Me',
    summary: 'Change the own name or locale',
    auth: 'session',
    agents: false,
    org: 'none',
    role: { rule: 'the caller, about themselves' },
    body: Closed('PatchMeProfileRequest', {
      name: Type.Optional(LocalizedTextInput),
      locale: Type.Optional(Nullable(Type.String({ maxLength: 35 }))),
    }),
    responses: { 200: MeProfile },
    errors: [],
    audit: 'user.updated',
  }),
] as const;

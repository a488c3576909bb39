import { Type } from 'typebox';
import { defineOperation } from './operation.ts';

/** The identity provider's own session record, passed on as it is; null without a session. */
const SessionOrNull = Type.Unsafe<Record<string, unknown> | null>({
  title: 'SessionOrNull',
  description: 'The identity provider’s session, or null',
  type: ['object', 'null'],
  additionalProperties: true,
});

const probe = {
  tag: 'Session',
  auth: 'session_probe',
  agents: true,
  org: 'none',
  role: { rule: 'anyone' },
  errors: [],
} as const;

export const sessionOperations = [
  defineOperation({
    ...probe,
    id: 'get_auth_whoami',
    method: 'GET',
    path: '/auth/whoami',
    summary: 'The browser session, or null',
    responses: { 200: SessionOrNull },
    audit: null,
  }),
  defineOperation({
    ...probe,
    id: 'get_auth_session',
    method: 'GET',
    path: '/auth/session',
    summary: 'The browser session, or null',
    responses: { 200: SessionOrNull },
    audit: null,
  }),
  defineOperation({
    ...probe,
    id: 'get_auth_kratos_identity',
    method: 'GET',
    path: '/auth/kratos-identity',
    summary: 'The browser session, or null, for proxies that block the other two paths',
    responses: { 200: SessionOrNull },
    audit: null,
  }),
  defineOperation({
    ...probe,
    id: 'get_auth_provisioned',
    method: 'GET',
    path: '/auth/provisioned',
    summary: 'Whether the principal is a user of this service',
    responses: { 204: null },
    audit: null,
  }),
  defineOperation({
    ...probe,
    id: 'post_auth_logout',
    method: 'POST',
    path: '/auth/logout',
    summary: 'End the browser session',
    responses: { 204: null },
    audit: 'identity.logged_out',
  }),
  defineOperation({
    ...probe,
    id: 'post_auth_sign_out',
    method: 'POST',
    path: '/auth/sign-out',
    summary: 'End the browser session',
    responses: { 204: null },
    audit: 'identity.logged_out',
  }),
] as const;

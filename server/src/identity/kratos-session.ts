import { toRfc3339 } from '../kernel/clock.ts';
import type { ActiveSession, Identity } from './identity-model.ts';

/** Kratos names a schema by the unpadded base64url of its id: this is "default". */
export const schemaPath = '/schemas/ZGVmYXVsdA';

export const identitySchema = {
  $id: 'default',
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Person',
  type: 'object',
  properties: {
    traits: {
      type: 'object',
      properties: {
        email: {
          type: 'string',
          format: 'email',
          title: 'E-Mail',
          'ory.sh/kratos': { credentials: { password: { identifier: true } } },
        },
        name: { type: 'string', title: 'Name' },
      },
      required: ['email'],
      additionalProperties: false,
    },
  },
} as const;

export function toKratosIdentity(identity: Identity, baseUrl: string): Record<string, unknown> {
  const stamps = { created_at: toRfc3339(identity.createdAt), updated_at: toRfc3339(identity.updatedAt) };
  const address = { id: identity.id, value: identity.email, via: 'email', ...stamps };
  return {
    id: identity.id,
    schema_id: 'default',
    schema_url: `${baseUrl}${schemaPath}`,
    state: 'active',
    state_changed_at: stamps.created_at,
    traits: { email: identity.email, ...(identity.name === null ? {} : { name: identity.name }) },
    verifiable_addresses: [
      {
        ...address,
        verified: identity.emailVerified,
        status: identity.emailVerified ? 'completed' : 'pending',
      },
    ],
    recovery_addresses: [address],
    metadata_public: null,
    organization_id: null,
    ...stamps,
  };
}

export function toKratosSession(session: ActiveSession, baseUrl: string): Record<string, unknown> {
  const authenticatedAt = toRfc3339(session.authenticatedAt);
  return {
    id: session.id,
    active: true,
    expires_at: toRfc3339(session.expiresAt),
    authenticated_at: authenticatedAt,
    authenticator_assurance_level: 'aal1',
    authentication_methods: [{ method: session.method, aal: 'aal1', completed_at: authenticatedAt }],
    issued_at: toRfc3339(session.issuedAt),
    identity: toKratosIdentity(session.identity, baseUrl),
    devices: [
      {
        id: session.id,
        ip_address: session.ipAddress ?? '',
        user_agent: session.userAgent ?? '',
        location: '',
      },
    ],
  };
}

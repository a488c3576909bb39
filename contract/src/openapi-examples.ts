import { ulidPattern } from './common.ts';
import type { JsonSchema } from './openapi-types.ts';

const orgId = '01K2V3M8Q4T6X9C1B5N7R0HDWE';
const invitationToken = 'pWq3yH7kT1mZ9sXc4vBn';

/** By schema title, where a made-up value would mislead. Checked against the schemas by a test. */
export const requestExamples: Readonly<Record<string, unknown>> = {
  ActionPayload: {},
  CreateAgentRequest: { name: 'Concierge', purpose: 'Opens the gate for deliveries', expires_in: '90d' },
  CreateAgentCredentialRequest: { name: 'production', expires_in: '90d' },
  CreateApiKeyRequest: {
    name: 'Voice assistant',
    expires_in: '90d',
    scoped_roles: ['entities:list', 'entities:set_state'],
  },
  CreateIntegrationRequest: {
    provider_type: 'virtual_demo',
    name: 'Practice doors',
    config: { auto_close_seconds: 5 },
  },
  CreateInvitationRequest: { email: 'ada@example.org', default_roles: ['entities:list'], expires_in: '7d' },
  CreateOrganizationRequest: { name: 'Harbour House', parent_id: orgId },
  CreateUserRequest: { name: 'Ada Byron', email: 'ada@example.org', roles: { [orgId]: ['entities:list'] } },
  InvitationPreviewRequest: { token: invitationToken },
  PatchMeProfileRequest: { name: 'Ada Byron', locale: 'en' },
  QuotaOverrideRequest: {
    subject_type: 'org',
    subject_id: orgId,
    quota_key: 'door_opens',
    period: 'day',
    limit_value: 500,
    reason: 'trial',
  },
  CreatePolicyRequest: { policy_type: 'quiet_hours', config: { start: '22:00', end: '06:00' } },
  UpdatePolicyRequest: { enforcement: 'audit_only' },
  SetOrgTimezoneRequest: { timezone: 'Europe/Berlin' },
  RedeemInvitationRequest: { token: invitationToken, pin: '493817' },
  RoleMap: { [orgId]: ['entities:list', 'entities:set_state'] },
  UpdateAgentRequest: { purpose: 'Opens the gate for deliveries', confirmation_mode: 'always' },
  UpdateApiKeyRequest: { name: 'Voice assistant, lobby', expires_in: '30d' },
  UpdateIntegrationRequest: { enabled: false },
  UpdateOrganizationRequest: { name: 'Harbour House', description: 'Pier 4, two doors and a gate' },
  UpdateUserRequest: { phone: '+493012345678' },
};

export type Resolve = (schema: JsonSchema) => JsonSchema;

/** A valid value: the written one, or one made of the required members (the first member where none is required). */
export function exampleOf(schema: JsonSchema, resolve: Resolve): unknown {
  const plain = resolve(schema);
  const written = plain.title === undefined ? undefined : requestExamples[plain.title];
  if (written !== undefined) return written;
  if (plain.default !== undefined) return plain.default;
  if (plain.const !== undefined) return plain.const;
  if (plain.enum !== undefined) return plain.enum[0];
  if (plain.anyOf?.[0] !== undefined) return exampleOf(plain.anyOf[0], resolve);
  const type = Array.isArray(plain.type) ? plain.type[0] : plain.type;
  return exampleOfType(type ?? 'any', plain, resolve);
}

function exampleOfType(type: string, schema: JsonSchema, resolve: Resolve): unknown {
  switch (type) {
    case 'object':
      return exampleObject(schema, resolve);
    case 'array':
      return schema.items === undefined ? [] : [exampleOf(schema.items, resolve)];
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'string':
      return exampleText(schema);
    default:
      return {};
  }
}

function exampleObject(schema: JsonSchema, resolve: Resolve): Record<string, unknown> {
  const names = Object.keys(schema.properties ?? {});
  const required = names.filter((name) => schema.required?.includes(name));
  const shown = required.length > 0 ? required : names.slice(0, 1);
  return Object.fromEntries(shown.map((name) => [name, exampleOf(schema.properties?.[name] ?? {}, resolve)]));
}

function exampleText({ format, pattern, minLength }: JsonSchema): string {
  if (format === 'date-time') return '2026-12-31T23:00:00.000Z';
  if (pattern === ulidPattern) return orgId;
  return 'text'.padEnd(minLength ?? 0, '…');
}

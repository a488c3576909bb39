import { type Static, Type } from 'typebox';
import { deletionOptions, LocalizedText, lifecycle, Page, pagination, Response, Ulid } from './common.ts';
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

export const integrationOperations = [
  defineOperation({
    id: 'list_integrations',
    method: 'GET',
    path: '/integrations',
    tag: 'Integrations',
    summary: 'List integrations; secrets are never included',
    auth: 'principal',
    agents: false,
    org: 'header',
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
] as const;

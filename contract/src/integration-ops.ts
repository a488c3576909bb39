import { type Static, Type } from 'typebox';
import { IdParams, includeDeleted, LocalizedText, PathId, Response } from './common.ts';
import { defineOperation } from './operation.ts';

const schema = Type.Record(Type.String(), Type.Unknown(), { description: 'A JSON Schema' });

export const IntegrationOp = Response('IntegrationOpResponse', {
  id: Type.String(),
  label: LocalizedText,
  description: Type.String(),
  input_schema: schema,
  mutates: Type.Boolean({ description: 'Whether it changes something at the far side' }),
  role: Type.Unsafe<'integrations:read' | 'integrations:update' | 'integrations:secrets'>({
    type: 'string',
    enum: ['integrations:read', 'integrations:update', 'integrations:secrets'],
    description: 'What the caller needs for it',
  }),
});
export type IntegrationOp = Static<typeof IntegrationOp>;

export const DiscoveredDevice = Response('DiscoveredDeviceResponse', {
  external_id: Type.String({
    description:
      'What names it at the provider; `discovered_as` of the provider’s definition says where it goes',
  }),
  name: Type.String(),
  model: Type.Optional(Type.String()),
  channel_count: Type.Optional(Type.Integer({ minimum: 0 })),
  already_added: Type.Boolean(),
});
export type DiscoveredDevice = Static<typeof DiscoveredDevice>;

export const IntegrationDeviceMetadataSchema = Response('IntegrationDeviceMetadataSchemaResponse', {
  provider_type: Type.String(),
  schema,
});

const ofIntegration = {
  tag: 'Integrations',
  auth: 'principal',
  agents: false,
  org: 'header',
  params: IdParams,
} as const;
const looking = {
  ...ofIntegration,
  method: 'GET',
  role: 'integrations:read',
  query: Type.Object({ ...includeDeleted }),
  audit: null,
} as const;

export const integrationOpOperations = [
  defineOperation({
    ...looking,
    id: 'list_integration_ops',
    path: '/integrations/{id}/ops',
    summary: 'What can be asked of an integration beside actions',
    responses: { 200: Type.Array(IntegrationOp) },
    errors: [],
  }),
  defineOperation({
    ...ofIntegration,
    id: 'execute_integration_op',
    method: 'POST',
    path: '/integrations/{id}/ops/{op_id}',
    summary: 'Ask an integration something, or set it up; never moves a door',
    description:
      'The body is the op’s input, an empty object where it needs none. Only an op that changes something, or answers ' +
      'with a secret, leaves an event.',
    params: Type.Object({ id: PathId, op_id: PathId }),
    role: { rule: 'integrations:read, integrations:update or integrations:secrets, as the op says' },
    body: Type.Unknown({ title: 'IntegrationOpInput', description: 'Any JSON; the op’s own schema decides' }),
    responses: { 200: Type.Unknown({ title: 'IntegrationOpResult', description: 'Any JSON' }) },
    errors: [
      'action_not_implemented',
      'device_refused',
      'device_unreachable',
      'integration_disabled',
      'outcome_unknown',
    ],
    audit: 'integration.op_executed',
  }),
  defineOperation({
    ...looking,
    id: 'get_integration_discovered_devices',
    path: '/integrations/{id}/discovered-devices',
    summary: 'The devices the provider sees, added or not',
    responses: { 200: Type.Array(DiscoveredDevice) },
    errors: ['action_not_implemented', 'device_refused', 'device_unreachable', 'integration_disabled'],
  }),
  defineOperation({
    ...looking,
    id: 'get_integration_device_metadata_schema',
    path: '/integrations/{id}/device-metadata-schema',
    summary: 'The JSON Schema of the metadata of its devices',
    responses: { 200: IntegrationDeviceMetadataSchema },
    errors: [],
  }),
] as const;

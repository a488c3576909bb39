import type { IntegrationOp } from '@lintel/contract/integration-ops';
import type { ProviderDefinition } from '@lintel/contract/integrations';
import type { TObject } from 'typebox';
import { AppError, type FieldProblem, invalid } from '../../kernel/app-error.ts';
import { opsOf } from '../../providers/ops.ts';
import type { OpDefinition, ProviderManifest } from '../../providers/provider.ts';
import { plainSchema } from '../../providers/record-rules.ts';

export type CheckShape = (schema: TObject, value: unknown) => readonly FieldProblem[];

/** Says where and what is wrong, never what was sent. */
export function requireShape(
  checkShape: CheckShape,
  schema: TObject,
  value: unknown,
  member: '/config' | '/secrets' | '',
): void {
  const problems = checkShape(schema, value).map(({ path, message }) => ({
    path: path === '/' ? member || '/' : `${member}${path}`,
    message,
  }));
  const [first] = problems;
  if (first !== undefined)
    throw new AppError('validation_error', `${first.path} ${first.message}`, { details: problems });
}

export function requireManifest(manifest: ProviderManifest | null): ProviderManifest {
  if (manifest === null) throw invalid('/provider_type', 'is not a kind of provider there is');
  return manifest;
}

/** The manifest as data: forms and documents are made from it. */
export function definitionOf(manifest: ProviderManifest): ProviderDefinition {
  return {
    provider_type: manifest.type,
    provider_type_name: { ...manifest.label },
    config_schema: plainSchema(manifest.config),
    secrets_schema: plainSchema(manifest.secrets),
    device_metadata_schema: plainSchema(manifest.deviceMetadata),
    entity_metadata_schema: plainSchema(manifest.entityMetadata),
    actions: [...manifest.actions],
    device_external_id: manifest.deviceExternalId,
    entity_external_id: manifest.entityExternalId,
    ...(manifest.deviceExternalIdPattern === undefined
      ? {}
      : { device_external_id_pattern: manifest.deviceExternalIdPattern }),
    ...(manifest.entityExternalIdPattern === undefined
      ? {}
      : { entity_external_id_pattern: manifest.entityExternalIdPattern }),
    default_min_interval_ms: manifest.defaultMinIntervalMs,
    ops: opsOf(manifest).map(opRecord),
    ...(manifest.discovery === undefined ? {} : { discovered_as: manifest.discovery }),
  };
}

const roles = {
  read: 'integrations:read',
  update: 'integrations:update',
  secret: 'integrations:secrets',
} as const;

export const roleFor = ({ effect }: OpDefinition) => roles[effect];

export function opRecord(op: OpDefinition): IntegrationOp {
  return {
    id: op.id,
    label: { ...op.label },
    description: op.description,
    input_schema: plainSchema(op.input),
    mutates: op.effect === 'update',
    role: roleFor(op),
  };
}

/** What an event may tell of an input. */
export function auditableInput(op: OpDefinition, input: object): Record<string, unknown> {
  const shown = Object.entries(op.input.properties).filter(([, schema]) => !Reflect.get(schema, 'writeOnly'));
  const names = new Set(shown.map(([name]) => name));
  return Object.fromEntries(Object.entries(input).filter(([name]) => names.has(name)));
}

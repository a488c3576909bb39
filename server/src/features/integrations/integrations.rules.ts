import type { ProviderDefinition } from '@lintel/contract/integrations';
import type { TObject } from 'typebox';
import { AppError, type FieldProblem, invalid } from '../../kernel/app-error.ts';
import type { ProviderManifest } from '../../providers/provider.ts';

export type CheckShape = (schema: TObject, value: unknown) => readonly FieldProblem[];

/** Says where and what is wrong, never what was sent. */
export function requireShape(
  checkShape: CheckShape,
  schema: TObject,
  value: unknown,
  member: '/config' | '/secrets',
): void {
  const problems = checkShape(schema, value).map(({ path, message }) => ({
    path: path === '/' ? member : `${member}${path}`,
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
    default_min_interval_ms: manifest.defaultMinIntervalMs,
  };
}

/** TypeBox keeps marks of its own under `~` names; they are no JSON Schema keywords. */
function plainSchema(schema: TObject): Record<string, unknown> {
  const text = JSON.stringify(schema, (key, value: unknown) => (key.startsWith('~') ? undefined : value));
  return JSON.parse(text) as Record<string, unknown>;
}

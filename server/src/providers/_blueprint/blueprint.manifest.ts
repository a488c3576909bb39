import { type Static, Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';

export const BlueprintConfig = Type.Object(
  {
    host: Type.String({ minLength: 1, maxLength: 255, description: 'Address of the relay' }),
    port: Type.Integer({ minimum: 1, maximum: 65_535, description: 'Its TCP port' }),
    min_interval_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000, default: 0 })),
  },
  { additionalProperties: false },
);
export type BlueprintConfig = Static<typeof BlueprintConfig>;

/** Copy this folder, rename, and describe your device here: forms, validation and documents follow. */
export const blueprintManifest: ProviderManifest = {
  type: 'blueprint',
  label: { en: 'Blueprint: a relay that takes lines of text over TCP' },
  config: BlueprintConfig,
  secrets: Type.Object({}, { additionalProperties: false }),
  deviceMetadata: Type.Object({}, { additionalProperties: false }),
  entityMetadata: Type.Object(
    { channel_index: Type.String({ pattern: '^[0-9]$', description: 'Which output, from 0' }) },
    { additionalProperties: false },
  ),
  actions: ['open', 'close'],
  deviceExternalId: 'refused',
  entityExternalId: 'refused',
  defaultMinIntervalMs: 0,
  pulseBy: 'server',
  defaultPulseSeconds: () => null,
};

import { type Static, Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';

const closed = { additionalProperties: false };

export const HomeassistantConfig = Type.Object(
  {
    base_url: Type.String({
      pattern: '^https?://[^\\s?#]+$',
      maxLength: 2000,
      description: 'Address of the hub, such as http://192.0.2.10:8123',
    }),
    min_interval_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600_000,
        default: 0,
        description: 'Least time between two opens of one entity',
      }),
    ),
  },
  closed,
);
export type HomeassistantConfig = Static<typeof HomeassistantConfig>;

export const homeassistantManifest: ProviderManifest = {
  type: 'homeassistant',
  label: { en: 'Home Assistant' },
  config: HomeassistantConfig,
  secrets: Type.Object(
    { token: Type.String({ minLength: 1, maxLength: 2000, description: 'Long-lived access token' }) },
    closed,
  ),
  deviceMetadata: Type.Object({}, closed),
  entityMetadata: Type.Object({}, closed),
  actions: ['open', 'close', 'toggle'],
  pulseBy: 'server',
  deviceExternalId: 'optional',
  entityExternalId: 'required',
  defaultMinIntervalMs: 0,
  defaultPulseSeconds: () => null,
};

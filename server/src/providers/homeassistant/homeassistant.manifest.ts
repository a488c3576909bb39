import { type Static, Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';
import { isMomentary } from './homeassistant.wire.ts';

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

const EntitiesInput = Type.Object(
  {
    domain: Type.Optional(
      Type.String({ pattern: '^[a-z0-9_]{1,64}$', description: 'Kind of entity, such as lock' }),
    ),
  },
  closed,
);
export type EntitiesInput = Static<typeof EntitiesInput>;

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
  // A button and a script end by themselves and have nothing to close.
  pulseBy: ({ externalId }) => (isMomentary(externalId?.split('.')[0] ?? '') ? 'device' : 'server'),
  deviceExternalId: 'optional',
  entityExternalId: 'required',
  entityExternalIdPattern: '^[a-z0-9_]{1,64}\\.[a-z0-9_]{1,200}$',
  defaultMinIntervalMs: 0,
  defaultPulseSeconds: () => null,
  ops: [
    {
      id: 'entities.list',
      label: { en: 'List the entities of the hub' },
      description: 'Id, name and state of what the hub has, of all kinds or of one.',
      input: EntitiesInput,
      effect: 'read',
    },
  ],
  discovery: 'entity.external_id',
};

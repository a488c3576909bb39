import { Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';
import { compositionOf, doorSeconds, siteConfigMembers, siteDeviceMembers } from '../site-manifest.ts';

export const commissaryManifest: ProviderManifest = {
  type: 'commissary',
  label: { en: 'Commissary' },
  config: Type.Object(
    {
      cabinets: Type.Optional(
        Type.Array(Type.String({ maxLength: 100 }), {
          maxItems: 500,
          description: 'Ids of the cabinet devices in the order they are shown',
        }),
      ),
      ...siteConfigMembers,
    },
    {
      additionalProperties: false,
      description:
        'An unattended shop or a wall of lockers: cabinets opened through entities of other integrations. It has no ' +
        'hardware of its own.',
    },
  ),
  secrets: Type.Object({}, { additionalProperties: false }),
  deviceMetadata: Type.Object(
    {
      kind: Type.Unsafe<'commissary_cabinet'>({ type: 'string', enum: ['commissary_cabinet'] }),
      ...siteDeviceMembers,
    },
    { additionalProperties: false },
  ),
  entityMetadata: Type.Object({}, { additionalProperties: Type.String() }),
  actions: ['open', 'close'],
  deviceExternalId: 'optional',
  entityExternalId: 'optional',
  defaultMinIntervalMs: 0,
  defaultPulseSeconds: (config, _entityType, deviceMetadata = {}) => doorSeconds(config, deviceMetadata),
  composition: compositionOf('commissary_cabinet'),
};

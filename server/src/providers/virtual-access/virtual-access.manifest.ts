import { Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';
import { compositionOf, doorSeconds, siteConfigMembers, siteDeviceMembers } from '../site-manifest.ts';

export const virtualAccessManifest: ProviderManifest = {
  type: 'virtual_access',
  label: { en: 'Virtual access' },
  config: Type.Object(
    {
      floor_order: Type.Optional(
        Type.Array(Type.String({ maxLength: 100 }), {
          maxItems: 500,
          description: 'Floors as the directory shows them',
        }),
      ),
      ...siteConfigMembers,
    },
    {
      additionalProperties: false,
      description:
        'A site: portals, which are doors opened through entities of other integrations, and directories, which ' +
        'list who can be reached. It has no hardware of its own.',
    },
  ),
  secrets: Type.Object({}, { additionalProperties: false }),
  deviceMetadata: Type.Object(
    {
      kind: Type.Unsafe<'virtual_access_portal' | 'virtual_access_directory'>({
        type: 'string',
        enum: ['virtual_access_portal', 'virtual_access_directory'],
      }),
      ...siteDeviceMembers,
    },
    { additionalProperties: false },
  ),
  // Listings carry what the directory shows of them: floor, number and the like.
  entityMetadata: Type.Object({}, { additionalProperties: Type.String() }),
  actions: ['open', 'close'],
  deviceExternalId: 'optional',
  entityExternalId: 'optional',
  defaultMinIntervalMs: 0,
  defaultPulseSeconds: (config, _entityType, deviceMetadata = {}) => doorSeconds(config, deviceMetadata),
  composition: compositionOf('virtual_access_portal'),
};

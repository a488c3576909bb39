import { type Static, Type } from 'typebox';
import type { Composition, ProviderManifest } from './provider.ts';

/** What the two kinds of sites have in common: devices that are opened through entities of other integrations. */

const closed = { additionalProperties: false } as const;
const id = Type.String({ pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' });
const label = Type.Optional(Type.String({ maxLength: 200 }));
const seconds = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 86_400, description: `${description}; 0 for ever` }));

export const siteConfigMembers = {
  location: Type.Optional(
    Type.Object(
      {
        formatted_address: Type.Optional(Type.String({ maxLength: 500 })),
        city: Type.Optional(Type.String({ maxLength: 200 })),
        country: Type.Optional(Type.String({ maxLength: 200 })),
        latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90 })),
        longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180 })),
      },
      closed,
    ),
  ),
  door_auto_close_seconds: seconds('How long doors of this site stay open, 5 unless said'),
  light_auto_off_seconds: seconds('How long lights that an open switches on stay on, 60 unless said'),
  min_interval_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000, default: 0 })),
};

const SiteConfig = Type.Object(siteConfigMembers);
type SiteConfig = Static<typeof SiteConfig>;

const VirtualAccess = Type.Object(
  {
    entry_kind: Type.Optional(
      Type.Unsafe<'door' | 'gate' | 'boom-gate'>({
        type: 'string',
        enum: ['door', 'gate', 'boom-gate'],
        default: 'door',
      }),
    ),
    openers: Type.Optional(
      Type.Array(Type.Object({ entity_id: id, label }, closed), {
        maxItems: 8,
        description: 'Switches, doors or lights of other integrations, tried in this order until one works',
      }),
    ),
    open_config: Type.Optional(
      Type.Object({ auto_close_seconds: seconds('How long it stays open') }, closed),
    ),
    lights: Type.Optional(
      Type.Array(
        Type.Object(
          {
            entity_id: id,
            label,
            auto_off_config: Type.Optional(
              Type.Object({ auto_off_seconds: seconds('How long it stays on') }, closed),
            ),
          },
          closed,
        ),
        { maxItems: 16, description: 'Switched on when the door was opened' },
      ),
    ),
  },
  closed,
);

export const siteDeviceMembers = {
  go2rtc_camera_device_ids: Type.Optional(Type.Array(id, { maxItems: 16 })),
  virtual_access: Type.Optional(VirtualAccess),
};

const SiteDevice = Type.Object({ kind: Type.String(), ...siteDeviceMembers });
type SiteDevice = Static<typeof SiteDevice>;

/** The composition of devices of this kind; others of the site have nothing to open. */
export function compositionOf(kind: string): NonNullable<ProviderManifest['composition']> {
  return (deviceMetadata): Composition | null => {
    const device = deviceMetadata as SiteDevice;
    if (device.kind !== kind) return null;
    const { entry_kind = 'door', openers = [], lights = [] } = device.virtual_access ?? {};
    const parts = (member: string, list: readonly { entity_id: string }[]) =>
      list.map((part, index) => ({
        id: part.entity_id,
        path: `/virtual_access/${member}/${index}/entity_id`,
      }));
    return {
      entryKind: entry_kind,
      openers: parts('openers', openers),
      lights: parts('lights', lights),
      cameras: (device.go2rtc_camera_device_ids ?? []).map((camera, index) => ({
        id: camera,
        path: `/go2rtc_camera_device_ids/${index}`,
      })),
    };
  };
}

/** The door's own delay, else that of the site, else 5 seconds. */
export function doorSeconds(
  config: Record<string, unknown>,
  deviceMetadata: Record<string, unknown>,
): number | null {
  const own = (deviceMetadata as SiteDevice).virtual_access?.open_config?.auto_close_seconds;
  return endless(own ?? (config as SiteConfig).door_auto_close_seconds ?? 5);
}

export function lightSeconds(
  config: Record<string, unknown>,
  deviceMetadata: Record<string, unknown>,
  entityId: string,
): number | null {
  const lights = (deviceMetadata as SiteDevice).virtual_access?.lights ?? [];
  const own = lights.find((light) => light.entity_id === entityId)?.auto_off_config?.auto_off_seconds;
  return endless(own ?? (config as SiteConfig).light_auto_off_seconds ?? 60);
}

function endless(chosen: number): number | null {
  return chosen === 0 ? null : chosen;
}

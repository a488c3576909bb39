import { type Static, Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';
import { shellyHardware } from '../shelly-hardware.ts';

const closed = { additionalProperties: false };

export const ShellyCloudConfig = Type.Object(
  {
    server_uri: Type.String({
      pattern: '^https?://[^\\s?#]+$',
      maxLength: 2000,
      description: 'Server of the account, as the app shows it beside the key',
    }),
    api: Type.Optional(
      Type.Unsafe<'v1' | 'v2'>({
        type: 'string',
        enum: ['v1', 'v2'],
        default: 'v2',
        description:
          'Version of the interface; v1 is given up by the vendor and has no pulse of its own: the service closes',
      }),
    ),
    min_interval_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600_000,
        default: 1000,
        description: 'Least time between two opens of one entity; the vendor allows one call per second',
      }),
    ),
  },
  closed,
);
export type ShellyCloudConfig = Static<typeof ShellyCloudConfig>;

const DeviceInput = Type.Object(
  {
    device_id: Type.String({
      pattern: '^[A-Za-z0-9_.-]{1,64}$',
      description: 'Id of the device at the vendor',
    }),
  },
  closed,
);
export type DeviceInput = Static<typeof DeviceInput>;

export const shellyCloudManifest: ProviderManifest = {
  type: 'shelly_cloud',
  label: { en: 'Shelly cloud switch' },
  config: ShellyCloudConfig,
  secrets: Type.Object(
    {
      auth_key: Type.String({
        minLength: 1,
        maxLength: 500,
        description: 'Key of the account; void after a change of its password',
      }),
    },
    closed,
  ),
  deviceMetadata: Type.Object({}, closed),
  entityMetadata: Type.Object(
    {
      channel_index: Type.Optional(
        Type.String({ pattern: '^[0-9]{1,2}$', default: '0', description: 'Channel of the device, from 0' }),
      ),
    },
    closed,
  ),
  actions: ['open', 'close'],
  // v1 has no timer in the device.
  pulseBy: ({ config }) => ((config as ShellyCloudConfig).api === 'v1' ? 'server' : 'device'),
  deviceExternalId: 'required',
  entityExternalId: 'refused',
  hardware: ({ externalId }) => shellyHardware(externalId),
  defaultMinIntervalMs: 1000,
  defaultPulseSeconds: () => null,
  ops: [
    {
      id: 'device.status',
      label: { en: 'Read the status of a device' },
      description: 'What the cloud knows of a device; takes one of the calls the vendor allows each second.',
      input: DeviceInput,
      effect: 'read',
    },
  ],
};

import { type Static, Type } from 'typebox';
import { noInput } from '../ops.ts';
import type { ProviderManifest } from '../provider.ts';

export const VENDOR_URL = 'https://api1.pal-es.com/v1/bt/';

const closed = { additionalProperties: false };

export const PalgateCloudConfig = Type.Object(
  {
    phone: Type.String({
      pattern: '^[1-9][0-9]{6,13}$',
      description: 'Phone number of the account, international, digits only, without +',
    }),
    token_type: Type.Unsafe<'sms' | 'primary' | 'secondary'>({
      type: 'string',
      enum: ['sms', 'primary', 'secondary'],
      description: 'How the session token was obtained: by SMS, or as the first or second linked device',
    }),
    base_url: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s?#]+$',
        maxLength: 2000,
        default: VENDOR_URL,
        description: "The vendor's interface",
      }),
    ),
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
export type PalgateCloudConfig = Static<typeof PalgateCloudConfig>;

export const palgateCloudManifest: ProviderManifest = {
  type: 'palgate_cloud',
  label: { en: 'PalGate cloud gate' },
  config: PalgateCloudConfig,
  secrets: Type.Object(
    {
      session_token_hex: Type.String({
        pattern: '^[0-9A-Fa-f]{32}$',
        description: 'Session token of the account: 16 bytes in hex',
      }),
    },
    closed,
  ),
  deviceMetadata: Type.Object({}, closed),
  entityMetadata: Type.Object({}, closed),
  // The gate only knows a pulse and closes by itself; its position is never reported.
  actions: ['open'],
  deviceExternalId: 'required',
  deviceExternalIdPattern: '^[^:\\s/?#]{1,64}(:2)?$',
  entityExternalId: 'refused',
  // Both outputs are of one gate.
  hardware: ({ externalId }) =>
    externalId === null ? null : { maker: 'palgate', id: externalId.replace(/:2$/, '') },
  defaultMinIntervalMs: 0,
  defaultPulseSeconds: () => null,
  ops: [
    {
      id: 'devices.list',
      label: { en: 'List the gates' },
      description: 'The gates of the account, and what this account may do with each.',
      input: noInput,
      effect: 'read',
    },
  ],
  discovery: 'device.external_id',
};

import { type Static, Type } from 'typebox';
import { noInput } from '../ops.ts';
import type { ProviderManifest } from '../provider.ts';

const closed = { additionalProperties: false };

export const Go2rtcConfig = Type.Object(
  {
    base_url: Type.String({
      pattern: '^https?://[^\\s?#]+$',
      maxLength: 2000,
      description: 'Address of the relay, such as http://127.0.0.1:1984',
    }),
    nvr_host: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9.:\\[\\]-]+$',
        maxLength: 260,
        description:
          'Address of the recorder the relay takes its pictures from, with its port if it is not 554',
      }),
    ),
    min_interval_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600_000,
        default: 0,
        description: 'Without effect: there is nothing to open',
      }),
    ),
  },
  closed,
);
export type Go2rtcConfig = Static<typeof Go2rtcConfig>;

export const go2rtcManifest: ProviderManifest = {
  type: 'go2rtc',
  label: { en: 'go2rtc video relay' },
  config: Go2rtcConfig,
  secrets: Type.Object(
    {
      nvr_username: Type.Optional(
        Type.String({ minLength: 1, maxLength: 200, description: 'User name at the recorder' }),
      ),
      nvr_password: Type.Optional(
        Type.String({ minLength: 1, maxLength: 200, description: 'Password at the recorder' }),
      ),
    },
    closed,
  ),
  deviceMetadata: Type.Object(
    {
      channel: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 999,
          description: 'Channel of the camera at the recorder, from 1',
        }),
      ),
    },
    closed,
  ),
  entityMetadata: Type.Object(
    {
      profile: Type.Optional(
        Type.String({
          pattern: '^(main|sub)$',
          default: 'main',
          description: 'Stream of the camera: main or sub',
        }),
      ),
    },
    closed,
  ),
  // A picture cannot be opened: every action is the 501.
  actions: [],
  deviceExternalId: 'optional',
  entityExternalId: 'optional',
  defaultMinIntervalMs: 0,
  defaultPulseSeconds: () => null,
  ops: [
    {
      id: 'streams.list',
      label: { en: 'List the streams' },
      description: 'The streams the relay has, with the number of their sources and viewers.',
      input: noInput,
      effect: 'read',
    },
  ],
  discovery: 'device.external_id',
};

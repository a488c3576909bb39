import { type Static, Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';
import { brokerConfig } from '../transport/mqtt-broker.ts';
import { DEFAULT_FULL_TOPIC } from './tasmota.wire.ts';
import { tasmotaOps } from './tasmota-ops.ts';

export const TasmotaConfig = Type.Object(
  {
    transport: Type.Optional(
      Type.Unsafe<'mqtt' | 'http'>({ type: 'string', enum: ['mqtt', 'http'], default: 'mqtt' }),
    ),
    ...brokerConfig,
    broker_host: Type.Optional(brokerConfig.broker_host),
    base_url: Type.Optional(
      Type.String({
        pattern: '^http://[^/?#@\\s]+/?$',
        maxLength: 300,
        description: 'Address of the one device of this integration; the firmware speaks plain HTTP only',
      }),
    ),
    poll_interval_seconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 3600,
        default: 30,
        description: 'How often HTTP asks for the state',
      }),
    ),
    min_interval_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000, default: 0 })),
  },
  {
    additionalProperties: false,
    anyOf: [
      { properties: { transport: { const: 'http' }, base_url: true }, required: ['transport', 'base_url'] },
      { properties: { transport: { const: 'mqtt' }, broker_host: true }, required: ['broker_host'] },
    ],
    description:
      'Switches with the Tasmota firmware, through a broker or one device by its HTTP API. A command succeeds when ' +
      'the device itself answers with the wanted state. Set PulseTime on the relay of a door, so that it closes by ' +
      'itself whatever happens: it is a stored setting of the device and is never written by a command; the service ' +
      'closes as well. A retained command of the device found at the broker is cleared and reduces the health.',
  },
);
export type TasmotaConfig = Static<typeof TasmotaConfig>;

export const TasmotaDeviceMetadata = Type.Object(
  {
    topic: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        pattern: '^[^#+%\\u0000]+$',
        description: 'Topic of the device; needed with MQTT',
      }),
    ),
    full_topic: Type.Optional(
      Type.String({
        maxLength: 100,
        pattern: '^(?=.*%prefix%)(?=.*%topic%)(?:[^#+%\\u0000]|%prefix%|%topic%)+$',
        default: DEFAULT_FULL_TOPIC,
        description: 'FullTopic of the device, with %hostname% and %id% written out',
      }),
    ),
    state_text_on: Type.Optional(Type.String({ minLength: 1, default: 'ON', description: 'StateText2' })),
    state_text_off: Type.Optional(Type.String({ minLength: 1, default: 'OFF', description: 'StateText1' })),
  },
  { additionalProperties: false },
);
export type TasmotaDeviceMetadata = Static<typeof TasmotaDeviceMetadata>;

export const TasmotaEntityMetadata = Type.Object(
  {
    channel_index: Type.Optional(
      Type.String({
        pattern: '^([1-9]|[12][0-9]|3[0-2])$',
        default: '1',
        description: 'Relay of the device, counted from 1',
      }),
    ),
  },
  { additionalProperties: false },
);

export const tasmotaManifest: ProviderManifest = {
  type: 'tasmota',
  label: { en: 'Tasmota' },
  config: TasmotaConfig,
  secrets: Type.Object(
    {
      username: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'User name at the broker or the device; admin with HTTP if absent',
        }),
      ),
      password: Type.Optional(
        Type.String({ minLength: 1, description: 'Password at the broker or the device' }),
      ),
    },
    { additionalProperties: false },
  ),
  deviceMetadata: TasmotaDeviceMetadata,
  entityMetadata: TasmotaEntityMetadata,
  actions: ['open', 'close', 'toggle'],
  deviceExternalId: 'optional',
  entityExternalId: 'refused',
  defaultMinIntervalMs: 0,
  // A PulseTime nobody has read back can not be trusted with a door: the service closes too, which a closed relay ignores.
  pulseBy: 'server',
  defaultPulseSeconds: () => null,
  ops: tasmotaOps,
  discovery: 'device.device_metadata.topic',
};

export const stateTextsOf = (device: Readonly<Record<string, unknown>>) => {
  const { state_text_on: on = 'ON', state_text_off: off = 'OFF' } = device as TasmotaDeviceMetadata;
  return { on, off };
};

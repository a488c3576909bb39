import { type Static, Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';
import { brokerConfig, brokerSecrets } from '../transport/mqtt-broker.ts';

export const MqttConfig = Type.Object(
  {
    ...brokerConfig,
    min_interval_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000, default: 0 })),
  },
  {
    additionalProperties: false,
    description:
      'Any MQTT broker. With a state topic a command succeeds when the device reports the wanted state after it; ' +
      'without one the acknowledgement of the broker is taken for success, and no state is known. With version 5 a ' +
      'command nobody is subscribed to is not sent, and one the broker forbids is refused. Commands are never ' +
      'retained and expire after 5 seconds; a retained message found on a command topic reduces the health.',
  },
);

const topic = { minLength: 1, maxLength: 65_535, pattern: '^[^#+\\u0000]+$' };

export const MqttEntityMetadata = Type.Object(
  {
    command_topic: Type.String({ ...topic, description: 'Where the device takes commands' }),
    state_topic: Type.Optional(
      Type.String({
        ...topic,
        description:
          'Where the device reports its state; the proof that a command worked. Not the command topic: ' +
          'a state topic equal to it is ignored',
      }),
    ),
    open_payload: Type.Optional(Type.String({ default: 'ON' })),
    close_payload: Type.Optional(Type.String({ default: 'OFF' })),
    toggle_payload: Type.Optional(Type.String({ default: 'TOGGLE' })),
    state_open: Type.Optional(
      Type.String({ description: 'State payload of an open door; else open_payload' }),
    ),
    state_closed: Type.Optional(
      Type.String({ description: 'State payload of a closed door; else close_payload' }),
    ),
    qos: Type.Optional(
      Type.Unsafe<'0' | '1'>({
        type: 'string',
        enum: ['0', '1'],
        default: '1',
        description: 'With 0 the broker acknowledges nothing, so only a state topic can tell success',
      }),
    ),
  },
  { additionalProperties: false },
);
export type MqttEntityMetadata = Static<typeof MqttEntityMetadata>;

export const mqttManifest: ProviderManifest = {
  type: 'mqtt',
  label: { en: 'MQTT' },
  config: MqttConfig,
  secrets: Type.Object(brokerSecrets, { additionalProperties: false }),
  deviceMetadata: Type.Object({}, { additionalProperties: false }),
  entityMetadata: MqttEntityMetadata,
  actions: ['open', 'close', 'toggle'],
  deviceExternalId: 'optional',
  entityExternalId: 'refused',
  defaultMinIntervalMs: 0,
  // A plain topic has no pulse of its own: it stays as it was put.
  pulseBy: 'server',
  defaultPulseSeconds: () => null,
};

import { type Static, Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';
import { brokerConfig, brokerSecrets } from '../transport/mqtt-broker.ts';

const TRANSPORTS = ['modbus_tcp', 'rtu_tcp', 'rtu_mqtt'] as const;
export type WaveshareTransport = (typeof TRANSPORTS)[number];

const topic = { minLength: 1, maxLength: 65_535, pattern: '^[^#+\\u0000]+$' };

export const WaveshareConfig = Type.Object(
  {
    transport: Type.Optional(
      Type.Unsafe<WaveshareTransport>({
        type: 'string',
        enum: [...TRANSPORTS],
        default: 'modbus_tcp',
        description:
          'What the board\'s "Transfer Protocol" is set to: `modbus_tcp` for "Modbus TCP protocol", `rtu_tcp` for "None" (RTU frames on raw TCP), `rtu_mqtt` for its MQTT client in transparent mode',
      }),
    ),
    host: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'Address or name of the board; needed over TCP',
      }),
    ),
    port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: 'TCP port; 502 for `modbus_tcp` and 4196 for `rtu_tcp` when left out',
      }),
    ),
    ...brokerConfig,
    broker_host: Type.Optional(brokerConfig.broker_host),
    command_topic: Type.Optional(
      Type.String({ ...topic, description: 'Topic the board is subscribed to; needed over MQTT' }),
    ),
    reply_topic: Type.Optional(
      Type.String({ ...topic, description: 'Topic the board publishes on; needed over MQTT' }),
    ),
    unit_id: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 247, default: 1, description: 'Modbus address of the board' }),
    ),
    min_interval_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600_000,
        default: 0,
        description: 'Shortest time between two commands for one entity',
      }),
    ),
  },
  {
    additionalProperties: false,
    // Named again in each branch, because strict validators want a required member to be known where it is required.
    anyOf: [
      { properties: { transport: { enum: ['modbus_tcp', 'rtu_tcp'] }, host: {} }, required: ['host'] },
      {
        properties: {
          transport: { const: 'rtu_mqtt' },
          broker_host: {},
          command_topic: {},
          reply_topic: {},
        },
        required: ['transport', 'broker_host', 'command_topic', 'reply_topic'],
      },
    ],
    description:
      'A relay board. A command succeeds when the board repeats it byte for byte; its relay is then read. A pulse is ' +
      'counted by the board itself, up to 3276.7 seconds. The board must be a multi-host gateway of the type ' +
      '"non-storage", with its relays in normal mode.',
  },
);
export type WaveshareConfig = Static<typeof WaveshareConfig>;

const nothing = Type.Object({}, { additionalProperties: false });

export const WaveshareEntityMetadata = Type.Object(
  {
    channel_index: Type.String({
      pattern: '^([0-9]|[12][0-9])$',
      description: 'Relay of the board, counted from 0',
    }),
  },
  { additionalProperties: false },
);

const RelaysInput = Type.Object(
  {
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 30, default: 8, description: 'How many; a board may have fewer' }),
    ),
  },
  { additionalProperties: false },
);
export type RelaysInput = Static<typeof RelaysInput>;

const DOOR_PULSE_SECONDS = 5;

export const waveshareManifest: ProviderManifest = {
  type: 'waveshare',
  label: { en: 'Waveshare relay board' },
  config: WaveshareConfig,
  secrets: Type.Object(brokerSecrets, { additionalProperties: false }),
  deviceMetadata: nothing,
  entityMetadata: WaveshareEntityMetadata,
  actions: ['open', 'close', 'toggle'],
  deviceExternalId: 'refused',
  entityExternalId: 'refused',
  defaultMinIntervalMs: 0,
  pulseBy: 'device',
  // A relay can hold anything; only behind a door is one that stays on surely not wanted.
  defaultPulseSeconds: (_config, entityType) => (entityType === 'door' ? DOOR_PULSE_SECONDS : null),
  ops: [
    {
      id: 'relays.read',
      label: { en: 'Read the relays' },
      description: 'Which relays of the board are on, from the first.',
      input: RelaysInput,
      effect: 'read',
    },
  ],
};

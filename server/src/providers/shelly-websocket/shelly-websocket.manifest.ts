import { Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';
import { shellyHardware } from '../shelly-hardware.ts';
import { shellyOps } from './shelly-ops.ts';

const closed = { additionalProperties: false };

export const ShellyWebsocketConfig = Type.Object(
  {
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
    ...closed,
    description:
      'Shelly devices of the second generation and later that connect to the service by their outbound websocket. ' +
      'Each integration has an address of its own, `wss://<host>/dial-in/shelly/<integration id>/<token>`, to be ' +
      'entered at the device as the server of its outbound websocket. The devices prove nothing else about ' +
      'themselves, so whoever knows the address can pretend to be one of them: keep it as a secret.',
  },
);

export const ShellyWebsocketDeviceMetadata = Type.Object(
  {
    'shelly.device_id': Type.String({
      pattern: '^[A-Za-z0-9_.-]{1,64}$',
      description: 'The id the device names itself by, such as `shellyplus1-a8032abe41fc`',
    }),
  },
  closed,
);

export const ShellyWebsocketEntityMetadata = Type.Object(
  {
    'shelly.component': Type.Optional(
      Type.String({
        pattern: '^(switch|cover):[0-9]{1,2}$',
        default: 'switch:0',
        description:
          'The output of the device. A switch ends a pulse by itself; a cover can not, so the service closes it',
      }),
    ),
  },
  closed,
);

const DOOR_PULSE_SECONDS = 5;

export const shellyWebsocketManifest: ProviderManifest = {
  type: 'shelly_websocket',
  label: { en: 'Shelly (outbound websocket)' },
  config: ShellyWebsocketConfig,
  secrets: Type.Object({}, closed),
  deviceMetadata: ShellyWebsocketDeviceMetadata,
  entityMetadata: ShellyWebsocketEntityMetadata,
  // The device's own toggle could do the opposite when it is repeated; where the state is known the engine makes one.
  actions: ['open', 'close'],
  deviceExternalId: 'refused',
  entityExternalId: 'refused',
  hardware: ({ deviceMetadata }) => shellyHardware(deviceMetadata['shelly.device_id']),
  defaultMinIntervalMs: 0,
  // The time a cover takes is the running time of its motor, no pulse.
  pulseBy: ({ metadata }) => (metadata['shelly.component']?.startsWith('cover:') ? 'server' : 'device'),
  // An output can switch anything; only behind a door is one that stays on surely not wanted.
  defaultPulseSeconds: (_config, entityType) => (entityType === 'door' ? DOOR_PULSE_SECONDS : null),
  ops: shellyOps,
  discovery: 'device.device_metadata.shelly.device_id',
};

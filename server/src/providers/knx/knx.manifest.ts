import { type Static, Type } from 'typebox';
import type { ProviderManifest } from '../provider.ts';

const GROUP_ADDRESS = '^([0-9]|[12][0-9]|3[01])/[0-7]/([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])$';
const INDIVIDUAL_ADDRESS =
  '^([0-9]|1[0-5])\\.([0-9]|1[0-5])\\.([0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])$';

export const KnxConfig = Type.Object(
  {
    host: Type.String({ minLength: 1, maxLength: 253, description: 'Address or name of the KNX/IP gateway' }),
    port: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 65_535, default: 3671, description: 'UDP port of the gateway' }),
    ),
    individual_address: Type.Optional(
      Type.String({
        pattern: INDIVIDUAL_ADDRESS,
        description:
          'Address on the bus to ask for, as `1.1.250`; only gateways with tunnelling version 2 grant it. Left out, the gateway chooses',
      }),
    ),
    local_ip: Type.Optional(
      Type.String({
        format: 'ipv4',
        description: 'Address of this machine to send from, where it has several networks',
      }),
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
  { additionalProperties: false },
);
export type KnxConfig = Static<typeof KnxConfig>;

export const KnxEntityMetadata = Type.Object(
  {
    status_address: Type.Optional(
      Type.String({
        pattern: GROUP_ADDRESS,
        description:
          'Group address on which the actuator reports its state; without it the state stays unknown',
      }),
    ),
    invert: Type.Optional(
      Type.Unsafe<'true' | 'false'>({
        type: 'string',
        enum: ['true', 'false'],
        default: 'false',
        description: '`true` when 0 opens and 1 closes, for the command and the status',
      }),
    ),
  },
  { additionalProperties: false },
);

const GroupInput = Type.Object(
  { group_address: Type.String({ pattern: GROUP_ADDRESS, description: 'As 2/1/1' }) },
  { additionalProperties: false },
);
export type GroupInput = Static<typeof GroupInput>;

const nothing = Type.Object({}, { additionalProperties: false });

export const knxManifest: ProviderManifest = {
  type: 'knx',
  label: { en: 'KNX' },
  config: KnxConfig,
  secrets: nothing,
  deviceMetadata: nothing,
  entityMetadata: KnxEntityMetadata,
  // DPT 1.001 has no toggle.
  actions: ['open', 'close'],
  deviceExternalId: 'optional',
  entityExternalId: 'required',
  entityExternalIdPattern: GROUP_ADDRESS,
  defaultMinIntervalMs: 0,
  // Nor has it a pulse: without an order to close, what was opened stays open.
  pulseBy: 'server',
  defaultPulseSeconds: () => null,
  ops: [
    {
      id: 'group.read',
      label: { en: 'Read a group address' },
      description: 'Asks the bus for the value of a group address of one bit; whoever holds it answers.',
      input: GroupInput,
      effect: 'read',
    },
  ],
};

import { type Static, Type } from 'typebox';
import { done, noInput, tested } from '../ops.ts';
import type { DiscoveredDevice, Health, Op, OpDefinition, OpResult } from '../provider.ts';
import type { DialIn } from '../transport/dial-in.ts';
import type { ShellySession } from './shelly-session.ts';
import { fullStatusCall, isRefusal } from './shelly-websocket.wire.ts';

const DeviceInput = Type.Object(
  {
    device_id: Type.String({
      pattern: '^[A-Za-z0-9_.-]{1,64}$',
      description: 'The id the device names itself by',
    }),
  },
  { additionalProperties: false },
);

export const shellyOps: readonly OpDefinition[] = [
  {
    id: 'dial_in.url',
    label: { en: 'Show the address to dial' },
    description:
      'What is entered at a device as the server of its outbound websocket. Whoever knows it can pretend to be one.',
    input: noInput,
    effect: 'secret',
  },
  {
    id: 'device.status',
    label: { en: 'Read the status of a device' },
    description: 'Everything a device that has dialled in says of itself now.',
    input: DeviceInput,
    effect: 'read',
  },
];

export interface ShellyOpsDeps {
  readonly integrationId: string;
  readonly dialIn: DialIn | undefined;
  readonly devices: ReadonlyMap<string, ShellySession>;
  readonly health: () => Health;
}

export function createShellyOps(deps: ShellyOpsDeps): Record<string, Op> {
  const { dialIn, devices, integrationId, health } = deps;
  return {
    'connection.test': async () =>
      dialIn === undefined
        ? tested('error', 'nothing can dial in here')
        : tested(health(), `${devices.size} devices have dialled in`),
    'dial_in.url': async () =>
      dialIn === undefined
        ? { kind: 'not_sent', reason: 'nothing can dial in here' }
        : done({ url: dialIn.address(integrationId).reveal() }),
    'device.status': (input, { deadlineMs, signal }) =>
      statusOf(
        devices.get((input as Static<typeof DeviceInput>).device_id.toLowerCase()),
        deadlineMs,
        signal,
      ),
  };
}

async function statusOf(
  session: ShellySession | undefined,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<OpResult> {
  const answer = (await session?.call(fullStatusCall, deadlineMs, signal)) ?? { kind: 'not_sent' };
  switch (answer.kind) {
    case 'result':
      return done(answer.result);
    case 'not_sent':
      return { kind: 'not_sent', reason: 'the device is not connected' };
    case 'lost':
      return { kind: 'unknown', reason: 'the device did not answer' };
    case 'error': {
      const reason = `the device answered with error ${answer.code ?? 'of no code'}`;
      return { kind: isRefusal(answer.code) ? 'refused' : 'unknown', reason };
    }
  }
}

/** Those that have dialled in: nothing else is known of devices that call by themselves. */
export function discoverShellys(devices: ReadonlyMap<string, ShellySession>): OpResult<DiscoveredDevice[]> {
  return done(
    [...devices].map(([externalId, session]) => {
      const model = session.model();
      const channelCount = session.outputs().length;
      return { externalId, name: externalId, ...(model === null ? {} : { model }), channelCount };
    }),
  );
}

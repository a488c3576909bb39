import { type Static, Type } from 'typebox';
import { done, mapDone } from '../ops.ts';
import type { Op, OpDefinition, OpLimits, OpResult } from '../provider.ts';
import { pulseTimeOf, readPulseTime, secondsOf } from './tasmota.wire.ts';

const closed = { additionalProperties: false };
const topic = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'Topic of the device, where the integration has several',
  }),
);

const StatusInput = Type.Object({ topic }, closed);
const PulseInput = Type.Object(
  {
    topic,
    channel_index: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 32, default: 1, description: 'Relay of the device, from 1' }),
    ),
    seconds: Type.Number({ minimum: 0, maximum: 64_800, description: '0 switches it off' }),
  },
  closed,
);

export const tasmotaOps: readonly OpDefinition[] = [
  {
    id: 'device.status',
    label: { en: 'Read the status of a device' },
    description: 'What the device says of itself: firmware, network, relays (STATUS 0).',
    input: StatusInput,
    effect: 'read',
  },
  {
    id: 'pulse_time.provision',
    label: { en: 'Set PulseTime' },
    description:
      'Stores in the device after how long it switches the relay off by itself, so that a door closes whatever ' +
      'happens. A relay that is on starts to count at once.',
    input: PulseInput,
    effect: 'update',
  },
];

export interface TasmotaQuestion<T> {
  /** Undefined: the only device there is. */
  readonly topic: string | undefined;
  readonly name: string;
  readonly payload: string;
  /** Null for what is not the answer, or not yet all of it. */
  read(members: Readonly<Record<string, unknown>>): T | null;
}

export type TasmotaAsk = <T>(question: TasmotaQuestion<T>, limits: OpLimits) => Promise<OpResult<T>>;

/** The same over either transport: only the way to ask differs. */
export function createTasmotaOps(ask: TasmotaAsk): Record<string, Op> {
  return {
    'device.status': (input, limits) => {
      const question = { name: 'STATUS', payload: '0', read: statusReader() };
      return ask({ topic: (input as Static<typeof StatusInput>).topic, ...question }, limits);
    },
    'pulse_time.provision': async (input, limits) => {
      const { topic: of, channel_index: channel = 1, seconds } = input as Static<typeof PulseInput>;
      const payload = String(pulseTimeOf(seconds));
      const read = (members: Readonly<Record<string, unknown>>) => readPulseTime(members, channel);
      const set = await ask({ topic: of, name: `PulseTime${channel}`, payload, read }, limits);
      if (set.kind === 'done' && String(set.result) !== payload)
        return { kind: 'refused', reason: 'the device kept another PulseTime' };
      return mapDone(set, (value) => ({ channel_index: channel, seconds: secondsOf(value) }));
    },
  };
}

/** Its login at the broker and the names of networks are nobody's business here. */
const SHOWN = ['Status', 'StatusPRM', 'StatusFWR', 'StatusNET', 'StatusTIM', 'StatusSTS'];

/** Over MQTT the parts come one by one, StatusSTS last. */
function statusReader() {
  const parts: Record<string, unknown> = {};
  return (members: Readonly<Record<string, unknown>>): Record<string, unknown> | null => {
    for (const name of SHOWN) if (Object.hasOwn(members, name)) parts[name] = members[name];
    return Object.hasOwn(parts, 'StatusSTS') ? parts : null;
  };
}

/** What one message says about a question. Null: it is not the answer. */
export function answerIn<T>(
  { read }: TasmotaQuestion<T>,
  members: Readonly<Record<string, unknown>>,
): OpResult<T> | null {
  const answer = read(members);
  if (answer !== null) return done(answer);
  return members.Command === 'Unknown'
    ? { kind: 'refused', reason: 'the device does not know this command or channel' }
    : null;
}

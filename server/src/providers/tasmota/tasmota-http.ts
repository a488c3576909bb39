import { tested, testedFailure } from '../ops.ts';
import type {
  Command,
  Connection,
  Delivery,
  EntityBinding,
  Link,
  OpLimits,
  OpResult,
  ProviderContext,
  Verb,
} from '../provider.ts';
import { type HttpOutcome, httpOnce } from '../transport/http-once.ts';
import { stateTextsOf, type TasmotaConfig } from './tasmota.manifest.ts';
import { channelOf, isWanted, parseObject, powerName, powerPayload, readHttpAnswer } from './tasmota.wire.ts';
import { answerIn, createTasmotaOps, type TasmotaQuestion } from './tasmota-ops.ts';

interface State {
  readonly context: ProviderContext;
  readonly ask: (cmnd: string, deadlineMs: number, signal: AbortSignal) => Promise<HttpOutcome>;
  readonly stopped: AbortController;
  entities: readonly EntityBinding[];
  answers: boolean;
  commands: number;
  timer: NodeJS.Timeout | undefined;
}

const POLL_TIMEOUT_MS = 5000;

export function connectTasmotaHttp(link: Link, context: ProviderContext): Connection {
  const { poll_interval_seconds: seconds = 30 } = link.config as TasmotaConfig;
  const state: State = {
    context,
    ask: askDevice(link, context),
    stopped: new AbortController(),
    entities: [],
    answers: false,
    commands: 0,
    timer: undefined,
  };
  const act = (verb: Verb) => (command: Command) => send(state, verb, command);
  return {
    actions: { open: act('open'), close: act('close'), toggle: act('toggle') },
    ops: {
      ...createTasmotaOps((question, limits) => ask(state, question, limits)),
      'connection.test': (_input, limits) => test(state, limits),
    },
    health: () => (state.answers ? 'ok' : 'error'),
    bind: (entities) => {
      state.entities = entities;
      clearTimeout(state.timer);
      void poll(state, seconds * 1000);
    },
    close: async () => {
      clearTimeout(state.timer);
      state.answers = false;
      state.stopped.abort();
    },
  };
}

async function ask<T>(
  state: State,
  question: TasmotaQuestion<T>,
  { deadlineMs, signal }: OpLimits,
): Promise<OpResult<T>> {
  const outcome = await state.ask(`${question.name} ${question.payload}`, deadlineMs, signal);
  if (outcome.kind !== 'response') return outcome;
  const reading = readHttpAnswer(outcome.status, outcome.body, { on: 'ON', off: 'OFF' });
  if (reading.kind === 'refused') return reading;
  const members = outcome.status === 200 ? parseObject(outcome.body) : null;
  const answer = members === null ? null : answerIn(question, members);
  return answer ?? { kind: 'unknown', reason: 'the answer of the device is not readable' };
}

async function test(state: State, { deadlineMs, signal }: OpLimits): Promise<OpResult> {
  const outcome = await state.ask('State', deadlineMs, signal);
  if (outcome.kind !== 'response') return testedFailure(outcome);
  const reading = readHttpAnswer(outcome.status, outcome.body, { on: 'ON', off: 'OFF' });
  return reading.kind === 'report' ? tested('ok', 'the device answers') : tested('error', reading.reason);
}

/** The login goes into a header, never into the address. No Referer: the firmware refuses foreign ones. */
function askDevice({ config, secrets }: Link, { clock }: ProviderContext): State['ask'] {
  const { base_url: base = '' } = config as TasmotaConfig;
  const login = `${secrets.username?.reveal() ?? 'admin'}:${secrets.password?.reveal() ?? ''}`;
  const headers: Record<string, string> =
    secrets.password === undefined ? {} : { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
  return (cmnd, deadlineMs, signal) => {
    const url = `${base.replace(/\/$/, '')}/cm?cmnd=${encodeURIComponent(cmnd)}`;
    return httpOnce({ method: 'GET', url, headers, deadlineMs, clock, signal });
  };
}

async function send(state: State, verb: Verb, command: Command): Promise<Delivery> {
  const { entity, deadlineMs, signal } = command;
  const channel = channelOf(entity.metadata);
  if (channel === null) return { kind: 'not_sent', reason: 'the entity has no channel' };
  state.commands += 1;
  try {
    const outcome = await state.ask(`${powerName(channel)} ${powerPayload(verb)}`, deadlineMs, signal);
    state.answers = outcome.kind === 'response' && outcome.status === 200;
    if (outcome.kind !== 'response') return { kind: outcome.kind, reason: outcome.reason };
    return deliveryOf(verb, channel, entity, outcome);
  } finally {
    state.commands -= 1;
  }
}

function deliveryOf(
  verb: Verb,
  channel: number,
  { deviceMetadata }: EntityBinding,
  { status, body }: { readonly status: number; readonly body: string },
): Delivery {
  const reading = readHttpAnswer(status, body, stateTextsOf(deviceMetadata));
  if (reading.kind === 'refused') return reading;
  if (reading.kind === 'unclear') return { kind: 'unknown', reason: reading.reason };
  const observed = reading.report.powers.get(channel);
  if (isWanted(verb, observed)) return { kind: 'delivered', observed };
  return { kind: 'unknown', reason: 'the device answered with another state' };
}

/** The device does not call by itself. A command in flight goes first: the web server of the firmware takes one at a time. */
async function poll(state: State, intervalMs: number): Promise<void> {
  if (state.stopped.signal.aborted) return;
  if (state.commands === 0 && state.entities.length > 0) await readStates(state);
  if (state.stopped.signal.aborted) return;
  clearTimeout(state.timer);
  state.timer = setTimeout(() => void poll(state, intervalMs), intervalMs);
  state.timer.unref();
}

async function readStates(state: State): Promise<void> {
  const { clock, onState } = state.context;
  const outcome = await state.ask('State', clock.monotonicMs() + POLL_TIMEOUT_MS, state.stopped.signal);
  if (state.stopped.signal.aborted || state.commands > 0) return;
  state.answers = false;
  if (outcome.kind !== 'response') return;
  for (const { entityId, metadata, deviceMetadata } of state.entities) {
    const reading = readHttpAnswer(outcome.status, outcome.body, stateTextsOf(deviceMetadata));
    if (reading.kind !== 'report') continue;
    state.answers = true;
    const status = reading.report.powers.get(channelOf(metadata) ?? 0);
    if (status !== undefined) onState(entityId, status);
  }
}

import { tested } from '../ops.ts';
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
import { awaitConfirmation, type Confirmation } from '../transport/confirmation.ts';
import { brokerSettingsOf } from '../transport/mqtt-broker.ts';
import { deliver, surelyNot } from '../transport/mqtt-delivery.ts';
import { createMqttLink, type MqttLink, type MqttMessage } from '../transport/mqtt-link.ts';
import { testBroker } from '../transport/mqtt-test.ts';
import { stateTextsOf, type TasmotaDeviceMetadata } from './tasmota.manifest.ts';
import {
  channelOf,
  DEFAULT_FULL_TOPIC,
  isWanted,
  parseObject,
  parseReport,
  powerName,
  powerPayload,
  type StateTexts,
  type TasmotaReport,
  type TasmotaTopics,
  topicsOf,
} from './tasmota.wire.ts';
import { createTasmotaDiscovery } from './tasmota-discovery.ts';
import { answerIn, createTasmotaOps, type TasmotaQuestion } from './tasmota-ops.ts';

interface Awaited {
  readonly verb: Verb;
  readonly channel: number;
  readonly confirmation: Confirmation<Delivery>;
}

interface Device {
  readonly topic: string;
  readonly topics: TasmotaTopics;
  readonly texts: StateTexts;
  readonly entities: { readonly entityId: string; readonly channel: number }[];
}

interface State {
  readonly context: ProviderContext;
  devices: ReadonlyMap<string, Device>;
  /** Devices whose last will was seen and not superseded. */
  readonly offline: Set<string>;
  /** By device: the engine has one command in flight for each. */
  readonly awaited: Map<string, Awaited>;
  /** By device, one at a time: what an op waits for. */
  readonly questions: Map<string, (members: Readonly<Record<string, unknown>>) => void>;
}

export function connectTasmotaMqtt(link: Link, context: ProviderContext): Connection {
  const state: State = {
    context,
    devices: new Map(),
    offline: new Set(),
    awaited: new Map(),
    questions: new Map(),
  };
  const broker: MqttLink = createMqttLink({
    broker: brokerSettingsOf(link),
    clock: context.clock,
    logger: context.logger.child({ integration_id: link.integrationId }),
    onMessage: (message) => {
      if (!discovery.take(message)) onMessage(state, message);
    },
    onConnected: () => askForStates(broker, state.devices.values()),
    // A device may come back while nobody listens, and without retained presence (SetOption104) nobody would tell.
    onDisconnected: () => state.offline.clear(),
    // The device takes an empty payload for a question, and the ghost of the command is gone.
    onRetainedCommand: (topic) => broker.clearRetained(topic),
  });
  const resubscribe = () => broker.subscribe([...filtersOf(state), ...discovery.filters()]);
  const discovery = createTasmotaDiscovery({ connected: broker.connected, resubscribe });
  const act = (verb: Verb) => (command: Command) => send(state, broker, verb, command);
  return {
    actions: { open: act('open'), close: act('close'), toggle: act('toggle') },
    ops: {
      ...createTasmotaOps((question, limits) => ask(state, broker, question, limits)),
      'connection.test': async () =>
        state.offline.size === 0
          ? testBroker(broker)
          : tested('reduced', `${state.offline.size} of ${state.devices.size} devices are offline`),
    },
    discover: discovery.run,
    health: () => {
      if (!broker.connected()) return 'error';
      return broker.undisturbed() && state.offline.size === 0 ? 'ok' : 'reduced';
    },
    bind: (entities) => bind(state, broker, resubscribe, entities),
    close: () => broker.close(),
  };
}

function filtersOf({ devices }: State): string[] {
  return [...devices.values()].flatMap(({ topics: { answers, presence, telemetry } }) => [
    answers,
    presence,
    telemetry,
  ]);
}

function bind(
  state: State,
  broker: MqttLink,
  resubscribe: () => void,
  entities: readonly EntityBinding[],
): void {
  const before = state.devices;
  state.devices = devicesOf(entities);
  for (const id of state.offline) if (!state.devices.has(id)) state.offline.delete(id);
  resubscribe();
  broker.watchCommands([...state.devices.values()].map(({ topics }) => topics.allCommands));
  askForStates(
    broker,
    [...state.devices].filter(([id]) => !before.has(id)).map(([, device]) => device),
  );
}

function devicesOf(entities: readonly EntityBinding[]): Map<string, Device> {
  const devices = new Map<string, Device>();
  for (const entity of entities) {
    const device = devices.get(entity.deviceId) ?? deviceOf(entity);
    const channel = channelOf(entity.metadata);
    if (device === null || channel === null) continue;
    device.entities.push({ entityId: entity.entityId, channel });
    devices.set(entity.deviceId, device);
  }
  return devices;
}

function deviceOf({ deviceMetadata }: EntityBinding): Device | null {
  const { topic, full_topic = DEFAULT_FULL_TOPIC } = deviceMetadata as TasmotaDeviceMetadata;
  if (topic === undefined) return null;
  return { topic, topics: topicsOf(topic, full_topic), texts: stateTextsOf(deviceMetadata), entities: [] };
}

/** Telemetry comes every five minutes; a state is wanted now. */
function askForStates(broker: MqttLink, devices: Iterable<Device>): void {
  for (const { topics } of devices) broker.ask(topics.command('STATE'));
}

/** Several devices of ours may stand for one of theirs, so every one looks at the message. */
function onMessage(state: State, message: MqttMessage): void {
  for (const [deviceId, device] of state.devices) {
    const { topics } = device;
    if (message.topic === topics.presence) onPresence(state, deviceId, message.payload.toString());
    const name = message.topic === topics.telemetry ? 'STATE' : topics.answerName(message.topic);
    if (name !== null) onReport(state, deviceId, device, name, message);
  }
}

function onReport(
  { offline, awaited, questions, context }: State,
  deviceId: string,
  { texts, entities }: Device,
  name: string,
  { payload, retained }: MqttMessage,
): void {
  const report = parseReport(name, payload.toString(), texts);
  if (!retained) {
    offline.delete(deviceId);
    const hear = questions.get(deviceId);
    if (name !== 'STATE') confirm(awaited.get(deviceId), report, hear !== undefined);
    const members = hear === undefined ? null : parseObject(payload.toString());
    if (members !== null) hear?.(members);
  }
  for (const { entityId, channel } of entities) {
    const status = report.powers.get(channel);
    if (status !== undefined) context.onState(entityId, status);
  }
}

function onPresence({ offline }: State, deviceId: string, presence: string): void {
  if (presence === 'Offline') offline.add(deviceId);
  else offline.delete(deviceId);
}

/** While an op asks as well nobody can tell which of the two the device does not know: then it counts for neither. */
function confirm(
  awaited: Awaited | undefined,
  { powers, isStatus, unknownCommand }: TasmotaReport,
  isAsked: boolean,
): void {
  if (awaited === undefined || isStatus) return;
  const status = powers.get(awaited.channel);
  if (isWanted(awaited.verb, status)) awaited.confirmation.give({ kind: 'delivered', observed: status });
  else if (unknownCommand && !isAsked)
    awaited.confirmation.give({ kind: 'refused', reason: 'the device does not know this channel' });
}

function deviceWith({ devices }: State, topic: string | undefined): [string, Device] | null {
  const all = [...devices];
  const fitting = topic === undefined ? all : all.filter(([, device]) => device.topic === topic);
  return fitting.length === 1 || topic !== undefined ? (fitting[0] ?? null) : null;
}

async function ask<T>(
  state: State,
  broker: MqttLink,
  question: TasmotaQuestion<T>,
  { deadlineMs, signal }: OpLimits,
): Promise<OpResult<T>> {
  const found = deviceWith(state, question.topic);
  if (found === null) return { kind: 'refused', reason: 'name the topic of a device of this integration' };
  const [deviceId, { topics }] = found;
  if (broker.connected() && state.offline.has(deviceId))
    return { kind: 'not_sent', reason: 'the device is offline' };
  if (state.questions.has(deviceId)) return { kind: 'not_sent', reason: 'the device is asked already' };
  const confirmation = awaitConfirmation<OpResult<T>>(state.context.clock, deadlineMs, signal);
  state.questions.set(deviceId, (members) => {
    const answer = answerIn(question, members);
    if (answer !== null && !(answer.kind === 'refused' && state.awaited.has(deviceId)))
      confirmation.give(answer);
  });
  try {
    const { name, payload } = question;
    const sent = await broker.publish({ topic: topics.command(name), payload, deadlineMs, signal });
    const failure = surelyNot(sent);
    if (failure !== null) return failure;
    return (await confirmation.answer) ?? { kind: 'unknown', reason: 'the device did not answer in time' };
  } finally {
    state.questions.delete(deviceId);
    confirmation.cancel();
  }
}

async function send(state: State, broker: MqttLink, verb: Verb, command: Command): Promise<Delivery> {
  const { entity, deadlineMs, signal } = command;
  const device = deviceOf(entity);
  const channel = channelOf(entity.metadata);
  if (device === null || channel === null)
    return { kind: 'not_sent', reason: 'the device has no topic or the entity no channel' };
  if (broker.connected() && state.offline.has(entity.deviceId))
    return { kind: 'not_sent', reason: 'the device is offline' };
  const confirmation = awaitConfirmation<Delivery>(state.context.clock, deadlineMs, signal);
  state.awaited.set(entity.deviceId, { verb, channel, confirmation });
  try {
    const request = { topic: device.topics.command(powerName(channel)), payload: powerPayload(verb) };
    return await deliver(broker, { ...request, deadlineMs, signal }, confirmation);
  } finally {
    state.awaited.delete(entity.deviceId);
  }
}

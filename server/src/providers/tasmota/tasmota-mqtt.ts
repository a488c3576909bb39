import type {
  Command,
  Connection,
  Delivery,
  EntityBinding,
  Link,
  ProviderContext,
  Verb,
} from '../provider.ts';
import { awaitConfirmation, type Confirmation } from '../transport/confirmation.ts';
import { brokerSettingsOf } from '../transport/mqtt-broker.ts';
import { deliver } from '../transport/mqtt-delivery.ts';
import { createMqttLink, type MqttLink, type MqttMessage } from '../transport/mqtt-link.ts';
import { stateTextsOf, type TasmotaDeviceMetadata } from './tasmota.manifest.ts';
import {
  channelOf,
  DEFAULT_FULL_TOPIC,
  isWanted,
  parseReport,
  powerName,
  powerPayload,
  type StateTexts,
  type TasmotaReport,
  type TasmotaTopics,
  topicsOf,
} from './tasmota.wire.ts';

interface Awaited {
  readonly verb: Verb;
  readonly channel: number;
  readonly confirmation: Confirmation<Delivery>;
}

interface Device {
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
}

export function connectTasmotaMqtt(link: Link, context: ProviderContext): Connection {
  const state: State = { context, devices: new Map(), offline: new Set(), awaited: new Map() };
  const broker: MqttLink = createMqttLink({
    broker: brokerSettingsOf(link),
    clock: context.clock,
    logger: context.logger.child({ integration_id: link.integrationId }),
    onMessage: (message) => onMessage(state, message),
    onConnected: () => askForStates(broker, state.devices.values()),
    // A device may come back while nobody listens, and without retained presence (SetOption104) nobody would tell.
    onDisconnected: () => state.offline.clear(),
    // The device takes an empty payload for a question, and the ghost of the command is gone.
    onRetainedCommand: (topic) => broker.clearRetained(topic),
  });
  const act = (verb: Verb) => (command: Command) => send(state, broker, verb, command);
  return {
    actions: { open: act('open'), close: act('close'), toggle: act('toggle') },
    health: () => {
      if (!broker.connected()) return 'error';
      return broker.undisturbed() && state.offline.size === 0 ? 'ok' : 'reduced';
    },
    bind: (entities) => bind(state, broker, entities),
    close: () => broker.close(),
  };
}

function bind(state: State, broker: MqttLink, entities: readonly EntityBinding[]): void {
  const before = state.devices;
  state.devices = devicesOf(entities);
  for (const id of state.offline) if (!state.devices.has(id)) state.offline.delete(id);
  const topics = [...state.devices.values()].map((device) => device.topics);
  broker.subscribe(topics.flatMap(({ answers, presence, telemetry }) => [answers, presence, telemetry]));
  broker.watchCommands(topics.map(({ allCommands }) => allCommands));
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
  return { topics: topicsOf(topic, full_topic), texts: stateTextsOf(deviceMetadata), entities: [] };
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
  { offline, awaited, context }: State,
  deviceId: string,
  { texts, entities }: Device,
  name: string,
  { payload, retained }: MqttMessage,
): void {
  const report = parseReport(name, payload.toString(), texts);
  if (!retained) {
    offline.delete(deviceId);
    if (name !== 'STATE') confirm(awaited.get(deviceId), report);
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

function confirm(awaited: Awaited | undefined, { powers, isStatus, unknownCommand }: TasmotaReport): void {
  if (awaited === undefined || isStatus) return;
  const status = powers.get(awaited.channel);
  if (isWanted(awaited.verb, status)) awaited.confirmation.give({ kind: 'delivered', observed: status });
  else if (unknownCommand)
    awaited.confirmation.give({ kind: 'refused', reason: 'the device does not know this channel' });
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

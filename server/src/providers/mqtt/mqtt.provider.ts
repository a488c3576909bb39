import type {
  Command,
  Connection,
  Delivery,
  EntityBinding,
  Link,
  ProviderContext,
  ProviderDefinition,
  Verb,
} from '../provider.ts';
import { awaitConfirmation, type Confirmation } from '../transport/confirmation.ts';
import { brokerSettingsOf } from '../transport/mqtt-broker.ts';
import { deliver } from '../transport/mqtt-delivery.ts';
import { createMqttLink, type MqttLink, type MqttMessage } from '../transport/mqtt-link.ts';
import { testBroker } from '../transport/mqtt-test.ts';
import { mqttManifest } from './mqtt.manifest.ts';
import { isWanted, type MqttMapping, mappingOf, statusOf } from './mqtt.wire.ts';

export const mqtt: ProviderDefinition = { manifest: mqttManifest, connect };

interface Awaited {
  readonly verb: Verb;
  readonly confirmation: Confirmation<Delivery>;
}

interface Reporter {
  readonly entityId: string;
  readonly mapping: MqttMapping;
}

interface State {
  readonly context: ProviderContext;
  /** By state topic. */
  reporters: ReadonlyMap<string, readonly Reporter[]>;
  /** By entity. */
  readonly awaited: Map<string, Awaited>;
}

function connect(link: Link, context: ProviderContext): Connection {
  const state: State = { context, reporters: new Map(), awaited: new Map() };
  const broker = createMqttLink({
    broker: brokerSettingsOf(link),
    clock: context.clock,
    logger: context.logger.child({ integration_id: link.integrationId }),
    onMessage: (message) => onMessage(state, message),
  });
  const act = (verb: Verb) => (command: Command) => send(state, broker, verb, command);
  return {
    actions: { open: act('open'), close: act('close'), toggle: act('toggle') },
    ops: { 'connection.test': async () => testBroker(broker) },
    health: () => (broker.connected() ? (broker.undisturbed() ? 'ok' : 'reduced') : 'error'),
    bind: (entities) => bind(state, broker, entities),
    close: () => broker.close(),
  };
}

function bind(state: State, broker: MqttLink, entities: readonly EntityBinding[]): void {
  const mapped = entities.flatMap(({ entityId, metadata }) => {
    const mapping = mappingOf(metadata);
    return mapping === null ? [] : [{ entityId, mapping }];
  });
  const reporting = mapped.filter(({ mapping }) => mapping.stateTopic !== null);
  state.reporters = Map.groupBy(reporting, ({ mapping }) => mapping.stateTopic ?? '');
  broker.subscribe(state.reporters.keys());
  broker.watchCommands(mapped.map(({ mapping }) => mapping.commandTopic));
}

function onMessage({ reporters, awaited, context }: State, { topic, payload, retained }: MqttMessage): void {
  for (const { entityId, mapping } of reporters.get(topic) ?? []) {
    const status = statusOf(mapping, payload);
    const waiting = awaited.get(entityId);
    // A retained state is a state, but it may be older than the command.
    if (!retained && waiting !== undefined && isWanted(waiting.verb, status))
      waiting.confirmation.give({ kind: 'delivered', observed: status });
    context.onState(entityId, status);
  }
}

async function send(state: State, broker: MqttLink, verb: Verb, command: Command): Promise<Delivery> {
  const { entity, deadlineMs, signal } = command;
  const mapping = mappingOf(entity.metadata);
  if (mapping === null) return { kind: 'not_sent', reason: 'the entity has no command topic' };
  const confirmation =
    mapping.stateTopic === null ? null : awaitConfirmation<Delivery>(state.context.clock, deadlineMs, signal);
  if (confirmation !== null) state.awaited.set(entity.entityId, { verb, confirmation });
  try {
    const request = { topic: mapping.commandTopic, payload: mapping.payloads[verb], qos: mapping.qos };
    return await deliver(broker, { ...request, deadlineMs, signal }, confirmation);
  } finally {
    state.awaited.delete(entity.entityId);
  }
}

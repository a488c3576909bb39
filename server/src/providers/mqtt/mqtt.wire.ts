import type { ObservedStatus, Verb } from '../provider.ts';
import type { MqttEntityMetadata } from './mqtt.manifest.ts';

/** The topics and payloads of one entity, with every default in place. */
export interface MqttMapping {
  readonly commandTopic: string;
  readonly stateTopic: string | null;
  readonly qos: 0 | 1;
  readonly payloads: Readonly<Record<Verb, string>>;
  readonly states: { readonly open: string; readonly closed: string };
}

/** Null when the entity was mapped before it had a command topic. */
export function mappingOf(metadata: Readonly<Record<string, string>>): MqttMapping | null {
  const entity: Partial<MqttEntityMetadata> = metadata;
  const { command_topic: commandTopic, state_topic: stateTopic, open_payload: open = 'ON' } = entity;
  if (commandTopic === undefined || commandTopic === '') return null;
  const close = entity.close_payload ?? 'OFF';
  return {
    commandTopic,
    // On the command topic our own command would come back as its proof.
    stateTopic: stateTopic === undefined || stateTopic === commandTopic ? null : stateTopic,
    qos: entity.qos === '0' ? 0 : 1,
    payloads: { open, close, toggle: entity.toggle_payload ?? 'TOGGLE' },
    states: { open: entity.state_open ?? open, closed: entity.state_closed ?? close },
  };
}

export function statusOf({ states }: MqttMapping, payload: Buffer): ObservedStatus {
  const text = payload.toString().trim();
  if (text === states.open.trim()) return 'open';
  return text === states.closed.trim() ? 'closed' : 'unknown';
}

/** A toggle is answered by either state. */
export function isWanted(verb: Verb, status: ObservedStatus): boolean {
  if (verb === 'toggle') return status !== 'unknown';
  return status === (verb === 'open' ? 'open' : 'closed');
}

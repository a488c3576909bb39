import { vi } from 'vitest';
import type { EntityBinding, ProviderDefinition } from '../../../src/providers/provider.ts';
import { backoffMs } from '../../../src/providers/transport/backoff.ts';

const pacing = '../../../src/providers/transport/pacing.ts';

/** MQTT links that back off with jitter, each for itself: no link knows how many others wait with it. */
export async function unpacedMqtt(): Promise<ProviderDefinition> {
  vi.doMock(pacing, () => ({ retryInMs: backoffMs }));
  // The modules of the real links stay as they are with those who have them: these are others.
  vi.resetModules();
  const { mqtt } = await import('../../../src/providers/mqtt/mqtt.provider.ts');
  vi.doUnmock(pacing);
  return mqtt;
}

/** One broker, one set of names: every organization listens where the first one does. */
export function withSharedTopics(definition: ProviderDefinition): ProviderDefinition {
  const shared = (entity: EntityBinding): EntityBinding => {
    const { state_topic = '', ...metadata } = entity.metadata;
    return { ...entity, metadata: { ...metadata, state_topic: state_topic.replace(/\d+/, '0') } };
  };
  return {
    ...definition,
    connect(link, context) {
      const connection = definition.connect(link, context);
      return { ...connection, bind: (entities) => connection.bind(entities.map(shared)) };
    },
  };
}

import { vi } from 'vitest';
import type { EntityBinding, ProviderDefinition } from '../../../src/providers/provider.ts';
import { backoffMs } from '../../../src/providers/transport/backoff.ts';
import type * as Pacing from '../../../src/providers/transport/pacing.ts';

const pacing = '../../../src/providers/transport/pacing.ts';

/** In place of all that links may ask of the real one. */
const unpaced: Omit<typeof Pacing, 'createPacing'> = {
  retryInMs: backoffMs,
  retryLater(failures, firstMs, capMs, attempt) {
    const timer = setTimeout(attempt, backoffMs(failures, firstMs, capMs));
    return { cancel: () => clearTimeout(timer) };
  },
};

/** MQTT links that back off with jitter, each for itself: no link knows how many others wait with it. */
export async function unpacedMqtt(): Promise<ProviderDefinition> {
  vi.doMock(pacing, () => unpaced);
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

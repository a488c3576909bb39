import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FarSide, ProviderBench, Stage } from '../bench.ts';

/** The demo has no far side: its faults are dialled in by its settings, and its memory is a file. */
async function start({ dataDir, api }: Stage): Promise<FarSide> {
  let [integrationId, entityId] = ['', ''];
  const dial = async (mode: 'refuse' | 'unreachable' | 'lose_reply' | null): Promise<void> => {
    const config = mode === null ? {} : { failure_rate: 1, failure_mode: mode };
    const answer = await api('PUT', `/integrations/${integrationId}`, { config });
    if (answer.status !== 200) throw new Error(answer.text);
  };
  const file = join(dataDir, 'virtual-demo', 'commands.jsonl');
  const lines = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []);
  return {
    records: {
      integration: { config: {} },
      device: {},
      entity: { entity_type: 'door' },
    },
    cannot: 'ring',
    connect: async (ids) => {
      ({ integrationId, entityId } = ids);
    },
    opens: () =>
      lines()
        .filter((line) => line.includes(entityId) && line.includes('"open"'))
        .map(() => 'open in its log'),
    faults: {
      loseReply: (lost) => dial(lost ? 'lose_reply' : null),
      refuse: (refusing) => dial(refusing ? 'refuse' : null),
    },
    stop: () => dial('unreachable'),
    restart: () => dial(null),
    close: async () => undefined,
  };
}

export const virtualDemoBenches: readonly ProviderBench[] = [
  { provider: 'virtual_demo', transport: 'in memory', peer: 'its own simulation', start },
];

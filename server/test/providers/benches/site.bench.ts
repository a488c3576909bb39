import type { FarSide, ProviderBench, RecordIds, Stage } from '../bench.ts';
import { createRecords } from '../records.ts';
import { mqttBenches } from './mqtt.bench.ts';
import { waveshareBenches } from './waveshare.bench.ts';

interface SiteKind {
  readonly provider: 'virtual_access' | 'commissary';
  readonly deviceKind: string;
  /** Whose entity it opens. */
  readonly opener: ProviderBench | undefined;
}

/** A site has no far side of its own: what it opens is the door of another integration, at the far side of that. */
function siteBench({ provider, deviceKind, opener }: SiteKind): ProviderBench {
  if (opener === undefined) throw new Error(`${provider} has nothing to open`);
  return {
    provider,
    transport: `an entity of ${opener.provider}`,
    peer: opener.peer,
    async start(stage: Stage): Promise<FarSide> {
      const far = await opener.start(stage);
      const ids: RecordIds = await createRecords(stage, opener, far.records);
      await far.connect?.(ids);
      const openers = [{ entity_id: ids.entityId }];
      return {
        ...far,
        records: {
          integration: { config: { door_auto_close_seconds: 0 } },
          device: { device_metadata: { kind: deviceKind, virtual_access: { openers } } },
          entity: { entity_type: 'door' },
        },
        connect: async () => undefined,
      };
    },
  };
}

export const siteBenches: readonly ProviderBench[] = [
  siteBench({
    provider: 'virtual_access',
    deviceKind: 'virtual_access_portal',
    opener: mqttBenches[0],
  }),
  siteBench({ provider: 'commissary', deviceKind: 'commissary_cabinet', opener: waveshareBenches[0] }),
];

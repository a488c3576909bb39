import type { LocalizedText } from '@lintel/contract/common';
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type {
  Health,
  Provider,
  ProviderDefinition,
  ProviderManifest,
  StateReport,
} from '../providers/provider.ts';
import { listEntitiesOfProvider, upsertStatus } from './target.store.ts';

export interface RunningProvider {
  readonly manifest: ProviderManifest;
  readonly provider: Provider;
}

export interface Providers {
  /** Null for a type this build does not have. */
  get(type: string): RunningProvider | null;
  label(type: string): LocalizedText;
  health(type: string, integrationId: string): Health;
  /** Takes up what the devices say of themselves now. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface ProvidersDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dataDir: string;
  readonly definitions: readonly ProviderDefinition[];
}

export function createProviders(deps: ProvidersDeps): Providers {
  const reports = createStateReports(deps);
  const running = new Map<string, RunningProvider>(
    deps.definitions.map(({ manifest, create }) => {
      const { clock, dataDir } = deps;
      const logger = deps.logger.child({ provider: manifest.type });
      return [
        manifest.type,
        { manifest, provider: create({ clock, logger, dataDir, onState: reports.take }) },
      ];
    }),
  );
  return {
    get: (type) => running.get(type) ?? null,
    label: (type) => running.get(type)?.manifest.label ?? { en: type },
    health: (type, integrationId) => running.get(type)?.provider.health(integrationId) ?? 'error',
    async start() {
      for (const [type, { provider }] of running) {
        const entities = await deps.db.asService((tx) => listEntitiesOfProvider(tx, type));
        for (const report of provider.statesAtStart(entities)) reports.take(report);
      }
      await reports.settled();
    },
    async close() {
      await Promise.all([...running.values()].map(({ provider }) => provider.close()));
      await reports.settled();
    },
  };
}

/** Writes what devices report, one after the other. A lost report is no harm: the next one corrects it. */
function createStateReports({ db, logger }: ProvidersDeps) {
  let tail: Promise<void> = Promise.resolve();
  const write = async (report: StateReport) => {
    try {
      await db.inOrg(report.orgId, (tx) => upsertStatus(tx, report));
    } catch (error) {
      logger.warn({ err: error, entity_id: report.entityId }, 'a reported state could not be written');
    }
  };
  return {
    take(report: StateReport): void {
      tail = tail.then(() => write(report));
    },
    settled: () => tail,
  };
}

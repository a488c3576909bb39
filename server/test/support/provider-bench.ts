import { systemClock } from '../../src/kernel/clock.ts';
import { createLogger } from '../../src/kernel/logger.ts';
import type {
  Command,
  EntityBinding,
  Link,
  ObservedStatus,
  ProviderContext,
} from '../../src/providers/provider.ts';

/** What a provider is given by the engine, with a record of what it reports. */
export interface ProviderBench {
  readonly context: ProviderContext;
  /** Every report in order, as `entity status`. */
  readonly reports: readonly string[];
  /** The first report from here on that fits. */
  reported(entityId: string, status: ObservedStatus): Promise<void>;
}

export function createProviderBench(): ProviderBench {
  const reports: string[] = [];
  const context: ProviderContext = {
    clock: systemClock,
    logger: createLogger({ level: 'silent' }),
    dataDir: '/nonexistent',
    onState: (entityId, status) => void reports.push(`${entityId} ${status}`),
  };
  return {
    context,
    reports,
    reported: async (entityId, status) => {
      const from = reports.length;
      await eventually(() => reports.slice(from).includes(`${entityId} ${status}`));
    },
  };
}

export function linkWith(config: Record<string, unknown>): Link {
  return { orgId: 'O', integrationId: 'I', config, secrets: {} };
}

export function bindingWith(fields: Partial<EntityBinding>): EntityBinding {
  return {
    entityId: 'E',
    entityType: 'door',
    externalId: null,
    metadata: {},
    deviceId: 'D',
    deviceExternalId: null,
    deviceMetadata: {},
    ...fields,
  };
}

export function commandFor(
  entity: EntityBinding,
  pulseSeconds: number | null = null,
  deadlineInMs = 5_000,
): Command {
  return {
    intentId: 'intent',
    entity,
    pulseSeconds,
    deadlineMs: systemClock.monotonicMs() + deadlineInMs,
    signal: new AbortController().signal,
  };
}

/** Waits for the world to become so; the limit is only there to end a test that fails. */
export async function eventually(isSo: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<void> {
  const until = systemClock.monotonicMs() + withinMs;
  while (!(await isSo())) {
    if (systemClock.monotonicMs() > until) throw new Error(`never became true: ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

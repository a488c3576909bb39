import { randomUUID } from 'node:crypto';
import { systemClock } from '../../src/kernel/clock.ts';
import { createLogger } from '../../src/kernel/logger.ts';
import { Secret } from '../../src/kernel/secret.ts';
import type {
  Command,
  Connection,
  EntityBinding,
  ObservedStatus,
  ProviderContext,
  ProviderDefinition,
} from '../../src/providers/provider.ts';
import { eventually } from './eventually.ts';

export interface ConnectOptions {
  readonly config: Record<string, unknown>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly integrationId?: string;
  readonly dialIn?: ProviderContext['dialIn'];
  readonly relay?: ProviderContext['relay'];
}

interface Report {
  readonly entityId: string;
  readonly status: ObservedStatus;
}

/** A connection of a provider with everything around it that a test looks at. */
export interface ConnectedProvider {
  readonly connection: Connection;
  readonly states: readonly Report[];
  /** The states as `entity status`. */
  reports(): string[];
  /** The first report from here on that fits. */
  reported(entityId: string, status: ObservedStatus): Promise<void>;
  /** All that was logged, as text: where a secret must not be. */
  logged(): string;
}

export function connectProvider(
  provider: Pick<ProviderDefinition, 'connect'>,
  { config, secrets = {}, integrationId = 'integration', dialIn, relay }: ConnectOptions,
): ConnectedProvider {
  const states: Report[] = [];
  const lines: string[] = [];
  const kept = Object.entries(secrets).map(([name, value]) => [name, new Secret(value)]);
  const connection = provider.connect(
    { orgId: 'org', integrationId, config, secrets: Object.fromEntries(kept) },
    {
      clock: systemClock,
      logger: createLogger({ level: 'trace', destination: { write: (line) => void lines.push(line) } }),
      dataDir: '/nonexistent',
      onState: (entityId, status) => void states.push({ entityId, status }),
      dialIn,
      relay,
    },
  );
  const textOf = ({ entityId, status }: Report): string => `${entityId} ${status}`;
  return {
    connection,
    states,
    reports: () => states.map(textOf),
    reported: async (entityId, status) => {
      const from = states.length;
      await eventually(() => states.slice(from).map(textOf).includes(`${entityId} ${status}`));
    },
    logged: () => lines.join(''),
  };
}

export function entityOf(more: Partial<EntityBinding> = {}): EntityBinding {
  return {
    entityId: `entity-${randomUUID()}`,
    entityType: 'switch',
    externalId: null,
    metadata: {},
    deviceId: `device-${randomUUID()}`,
    deviceExternalId: null,
    deviceMetadata: {},
    ...more,
  };
}

export function commandTo(
  entity: EntityBinding,
  more: Partial<Command> & { withinMs?: number } = {},
): Command {
  const { withinMs = 5_000, ...rest } = more;
  return {
    intentId: randomUUID(),
    entity,
    pulseSeconds: null,
    deadlineMs: systemClock.monotonicMs() + withinMs,
    signal: new AbortController().signal,
    ...rest,
  };
}

import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/kernel/clock.ts';
import { createLogger } from '../../../src/kernel/logger.ts';
import { Secret } from '../../../src/kernel/secret.ts';
import type {
  Command,
  Connection,
  EntityBinding,
  ObservedStatus,
  ProviderDefinition,
} from '../../../src/providers/provider.ts';

export interface ConnectOptions {
  readonly config: Record<string, unknown>;
  readonly secrets?: Readonly<Record<string, string>>;
}

/** A connection of a provider with everything around it that a test looks at. */
export interface ConnectedProvider {
  readonly connection: Connection;
  readonly states: { readonly entityId: string; readonly status: ObservedStatus }[];
  /** All that was logged, as text: where a secret must not be. */
  logged(): string;
}

export function connectProvider(
  provider: ProviderDefinition,
  { config, secrets = {} }: ConnectOptions,
): ConnectedProvider {
  const states: { entityId: string; status: ObservedStatus }[] = [];
  const lines: string[] = [];
  const connection = provider.connect(
    {
      orgId: 'org',
      integrationId: 'integration',
      config,
      secrets: Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, new Secret(value)])),
    },
    {
      clock: systemClock,
      logger: createLogger({ level: 'trace', destination: { write: (line) => void lines.push(line) } }),
      dataDir: '',
      onState: (entityId, status) => void states.push({ entityId, status }),
    },
  );
  return { connection, states, logged: () => lines.join('') };
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
  const { withinMs = 3000, ...rest } = more;
  return {
    intentId: randomUUID(),
    entity,
    pulseSeconds: null,
    deadlineMs: systemClock.monotonicMs() + withinMs,
    signal: new AbortController().signal,
    ...rest,
  };
}

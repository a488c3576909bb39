import type { LocalizedText } from '@lintel/contract/common';
import type { Health, ProviderManifest } from '../providers/provider.ts';
import { type Connections, createConnections } from './connections.ts';
import type { ConnectionsDeps } from './live-connections.ts';
import type { CommandRelay } from './relay.ts';
import { createStateReports } from './state-reports.ts';

export interface Providers {
  /** Null for a type this build does not have. */
  manifest(type: string): ProviderManifest | null;
  label(type: string): LocalizedText;
  health(type: string, integrationId: string): Health;
  readonly use: Connections['use'];
  readonly takeUp: Connections['takeUp'];
  readonly refresh: Connections['refresh'];
  /** Where the commands of sites go on. Until then they can send none. */
  relayThrough(relay: Pick<CommandRelay, 'send'>): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

export type ProvidersDeps = Omit<ConnectionsDeps, 'reports' | 'relay'>;

/** The provider types of this build, and the live connections of the integrations. */
export function createProviders(deps: ProvidersDeps): Providers {
  const reports = createStateReports(deps);
  // The relay needs the engine, and the engine needs the connections.
  let relay: Pick<CommandRelay, 'send'> | null = null;
  const connections = createConnections({
    ...deps,
    reports,
    relay: { send: async (request) => (relay === null ? null : relay.send(request)) },
  });
  const manifest = (type: string) => deps.definitions.get(type)?.manifest ?? null;
  return {
    manifest,
    label: (type) => manifest(type)?.label ?? { en: type },
    health: (type, integrationId) => {
      if (manifest(type) === null) return 'error';
      // A paused integration, and one that is just being connected, has no connection: that is not full health.
      return connections.health(integrationId) ?? 'reduced';
    },
    use: connections.use,
    takeUp: connections.takeUp,
    refresh: connections.refresh,
    relayThrough: (given) => {
      relay = given;
    },
    start: connections.start,
    async close() {
      await connections.close();
      await reports.settled();
    },
  };
}

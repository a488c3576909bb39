import { startGo2rtcPeer } from '../../support/peers/go2rtc-peer.ts';
import type { FarSide, ProviderBench, Stage } from '../bench.ts';

async function start({ api }: Stage): Promise<FarSide> {
  const far = await startGo2rtcPeer();
  far.streams.add('lobby');
  const config = { base_url: far.http.url, nvr_host: '192.0.2.7' };
  let integrationId = '';
  return {
    records: {
      integration: {
        config,
        secrets: { nvr_username: 'viewer', nvr_password: 'recorder-password-77' },
      },
      device: { device_metadata: { channel: 1 } },
      entity: { entity_type: 'door', metadata: { profile: 'main' } },
    },
    cannot: 'open',
    opens: () => far.http.calls.filter(({ method }) => method !== 'GET').map(({ path }) => path),
    faults: null,
    connect: async (ids) => {
      ({ integrationId } = ids);
    },
    async stop() {
      await far.http.stop();
      // It is looked at every half a minute, and at once when its settings change.
      await api('PUT', `/integrations/${integrationId}`, { config: { ...config, min_interval_ms: 1 } });
    },
    restart: () => far.http.start(),
    close: () => far.http.stop(),
  };
}

export const go2rtcBenches: readonly ProviderBench[] = [
  { provider: 'go2rtc', transport: 'HTTP', peer: 'twin', start },
];

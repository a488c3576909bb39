import { startShellyCloudPeer } from '../../support/peers/shelly-cloud-peer.ts';
import type { FarSide, ProviderBench } from '../bench.ts';

const device = 'b48a0a1cd978';
const key = 'account-key-77';
const commands = /set\/switch|relay\/control/;

async function start(api: 'v1' | 'v2'): Promise<FarSide> {
  const far = await startShellyCloudPeer(key, [`${device}/0`]);
  const isOpen = (body: string): boolean => /"on":true|turn=on/.test(body);
  const refusal = { kind: 'answer', status: 403, body: '' } as const;
  return {
    records: {
      integration: { config: { server_uri: far.http.url, api }, secrets: { auth_key: key } },
      device: { external_id: device },
      entity: { entity_type: 'door' },
    },
    cannot: 'ring',
    opens: () =>
      far.http.calls
        .filter(({ path, body }) => commands.test(path) && isOpen(body))
        .map(({ method, path }) => `${method} ${path}`),
    faults: {
      loseReply: (lost) => far.http.fault(lost ? { kind: 'drop' } : null, commands),
      refuse: (refusing) => far.http.fault(refusing ? refusal : null, commands),
    },
    stop: () => far.http.stop(),
    restart: () => far.http.start(),
    close: () => far.http.stop(),
  };
}

export const shellyCloudBenches: readonly ProviderBench[] = (['v2', 'v1'] as const).map((api) => ({
  provider: 'shelly_cloud',
  transport: `HTTPS API ${api}`,
  peer: 'twin',
  start: () => start(api),
}));

import { startPalgatePeer } from '../../support/peers/palgate-peer.ts';
import type { FarSide, ProviderBench } from '../bench.ts';

const gate = '4G600123456';
const phone = '972501234567';
const sessionTokenHex = 'deadbeefcafebabe0102030405060708';
const refusal = { kind: 'answer', status: 429, body: 'Too Many Requests' } as const;

async function start(): Promise<FarSide> {
  const far = await startPalgatePeer({ phone, sessionTokenHex, tokenType: 2, gates: [gate] });
  return {
    records: {
      integration: {
        config: { phone, token_type: 'secondary', base_url: far.url },
        secrets: { session_token_hex: sessionTokenHex },
      },
      device: { external_id: gate },
      entity: { entity_type: 'door' },
    },
    // The gate closes by itself, and only so.
    cannot: 'close',
    opens: () =>
      far.http.calls.filter(({ path }) => path.endsWith('/open-gate')).map(({ path }) => `GET ${path}`),
    faults: {
      loseReply: (lost) => far.http.fault(lost ? { kind: 'drop' } : null, /open-gate/),
      refuse: (refusing) => far.http.fault(refusing ? refusal : null, /open-gate/),
    },
    stop: () => far.http.stop(),
    restart: () => far.http.start(),
    close: () => far.http.stop(),
  };
}

export const palgateCloudBenches: readonly ProviderBench[] = [
  { provider: 'palgate_cloud', transport: 'HTTPS', peer: 'twin', start },
];

import { startHomeassistantPeer } from '../../support/peers/homeassistant-peer.ts';
import type { FarSide, ProviderBench } from '../bench.ts';

const token = 'long-lived-token-77';
const gate = 'switch.gate';

async function start(hasWebsocket: boolean): Promise<FarSide> {
  const far = await startHomeassistantPeer(token);
  far.set(gate, 'off');
  far.allowWebsocket(hasWebsocket);
  return {
    records: {
      integration: { config: { base_url: far.http.url }, secrets: { token } },
      device: {},
      entity: { entity_type: 'door', external_id: gate },
    },
    cannot: 'ring',
    // Without the websocket nothing is known of what happens in between.
    ...(hasWebsocket ? {} : { bestHealth: 'reduced' }),
    opens: () => far.calls.filter((call) => call.includes('turn_on')),
    faults: hasWebsocket
      ? {
          loseReply: (lost) => far.mode(lost ? { kind: 'drop' } : null),
          refuse: (refusing) =>
            far.mode(refusing ? { kind: 'fail', code: 'service_validation_error' } : null),
        }
      : {
          loseReply: (lost) => far.http.fault(lost ? { kind: 'drop' } : null, /services/),
          refuse: (refusing) =>
            far.http.fault(refusing ? { kind: 'answer', status: 400, body: '' } : null, /services/),
        },
    stop: () => far.http.stop(),
    restart: () => far.http.start(),
    close: () => far.http.stop(),
  };
}

export const homeassistantBenches: readonly ProviderBench[] = [
  { provider: 'homeassistant', transport: 'websocket', peer: 'twin', start: () => start(true) },
  { provider: 'homeassistant', transport: 'REST', peer: 'twin', start: () => start(false) },
];

import { dialInUrl } from '../../../src/providers/transport/dial-in.ts';
import { type ShellyDevicePeer, startShellyDevice } from '../../support/peers/shelly-device-peer.ts';
import { testPepper } from '../../support/test-world.ts';
import type { FarSide, ProviderBench, Stage } from '../bench.ts';

const id = 'shellyplus1-a8032abe41fc';

async function start({ origin }: Stage): Promise<FarSide> {
  const plugged: ShellyDevicePeer[] = [];
  let url = '';
  const plugIn = async (): Promise<void> => void plugged.push(await startShellyDevice({ url, id }));
  const current = (): ShellyDevicePeer => {
    const last = plugged.at(-1);
    if (last === undefined) throw new Error('the device is not plugged in');
    return last;
  };
  return {
    records: {
      integration: { config: {} },
      device: { device_metadata: { 'shelly.device_id': id } },
      entity: { entity_type: 'door', metadata: { 'shelly.component': 'switch:0' } },
    },
    cannot: 'ring',
    async connect({ integrationId }) {
      url = dialInUrl(origin, testPepper, integrationId);
      await plugIn();
    },
    opens: () =>
      plugged.flatMap(({ requests }) =>
        requests
          .filter(({ method, params }) => method === 'Switch.Set' && params?.on === true)
          .map(({ method, params }) => `${method} ${params?.id} on`),
      ),
    faults: {
      loseReply: (lost) => {
        current().manner = { kind: lost ? 'drop_reply' : 'obey' };
      },
      refuse: (refusing) => {
        current().manner = refusing ? { kind: 'refuse', code: -105 } : { kind: 'obey' };
      },
    },
    stop: () => current().unplug(),
    restart: plugIn,
    close: () => current().unplug(),
  };
}

export const shellyWebsocketBenches: readonly ProviderBench[] = [
  { provider: 'shelly_websocket', transport: 'websocket, dials in', peer: 'twin', start },
];

import { setTimeout as delay } from 'node:timers/promises';
import { type KnxdPeer, startKnxd } from '../../support/peers/knxd.ts';
import { startUdpCut } from '../../support/peers/udp-cut.ts';
import type { FarSide, ProviderBench } from '../bench.ts';

const group = '2/1/1';
/** After this much silence the provider asks the gateway first, and so can prove that nothing left. */
const SILENCE_MS = 5_500;

async function start(): Promise<FarSide> {
  const daemons: KnxdPeer[] = [await startKnxd()];
  const current = (): KnxdPeer | undefined => daemons.at(-1);
  const port = current()?.port ?? 0;
  const wire = await startUdpCut(port);
  return {
    records: {
      integration: { config: { host: '127.0.0.1', port: wire.port, local_ip: '127.0.0.1' } },
      device: {},
      entity: { entity_type: 'door', external_id: group },
    },
    cannot: 'ring',
    opens: () =>
      daemons
        .flatMap((daemon) => daemon.telegrams())
        .filter((line) => line.startsWith('Write') && /2\/1\/1: 01\b/.test(line))
        .map((line) => line.trim()),
    // A bus has no way to say no: an actuator obeys, or it is not there.
    faults: { loseReply: (lost) => wire.cut(lost ? 'replies' : 'none') },
    async stop() {
      await current()?.stop();
      await wire.close();
      await delay(SILENCE_MS);
    },
    async restart() {
      daemons.push(await startKnxd({ port }));
      await wire.open();
    },
    async close() {
      await wire.close();
      await current()?.stop();
    },
  };
}

export const knxBenches: readonly ProviderBench[] = [
  { provider: 'knx', transport: 'KNXnet/IP tunnel', peer: 'real knxd', start },
];

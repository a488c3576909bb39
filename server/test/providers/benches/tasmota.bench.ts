import { startMosquitto } from '../../support/peers/mosquitto.ts';
import { startTasmotaHttp, startTasmotaMqtt, type TasmotaRelays } from '../../support/peers/tasmota-peer.ts';
import type { FarFaults, FarSide, ProviderBench } from '../bench.ts';

const password = 'web-password-77';
const entity = { entity_type: 'door', metadata: { channel_index: '1' } } as const;

const faultsOf = (relays: TasmotaRelays): FarFaults => ({
  loseReply: (lost) => relays.fault(lost ? 'silent' : null),
  refuse: (refusing) => relays.fault(refusing ? 'unknown' : null),
});
const opensOf = (relays: TasmotaRelays): string[] => relays.commands.filter((line) => line.endsWith(' ON'));

async function startOverMqtt(): Promise<FarSide> {
  const broker = await startMosquitto();
  const far = await startTasmotaMqtt({ port: broker.port, topic: 'gate' });
  return {
    records: {
      integration: { config: { transport: 'mqtt', broker_host: '127.0.0.1', broker_port: broker.port } },
      device: { device_metadata: { topic: 'gate' } },
      entity,
    },
    cannot: 'ring',
    opens: () => opensOf(far),
    faults: faultsOf(far),
    stop: () => far.powerOff(),
    restart: () => far.powerOn(),
    close: async () => {
      await far.powerOff();
      await broker.close();
    },
  };
}

async function startOverHttp(): Promise<FarSide> {
  const far = await startTasmotaHttp({ password });
  return {
    records: {
      integration: { config: { transport: 'http', base_url: far.http.url }, secrets: { password } },
      device: {},
      entity,
    },
    cannot: 'ring',
    opens: () => opensOf(far),
    faults: {
      ...faultsOf(far),
      loseReply: (lost) => far.http.fault(lost ? { kind: 'drop' } : null),
    },
    stop: () => far.http.stop(),
    restart: () => far.http.start(),
    close: () => far.http.stop(),
  };
}

export const tasmotaBenches: readonly ProviderBench[] = [
  { provider: 'tasmota', transport: 'MQTT', peer: 'twin on real mosquitto', start: startOverMqtt },
  { provider: 'tasmota', transport: 'HTTP', peer: 'twin', start: startOverHttp },
];

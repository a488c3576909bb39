import { startMosquitto } from '../../support/peers/mosquitto.ts';
import { type PymodbusPeer, startPymodbus } from '../../support/peers/pymodbus.ts';
import { startTcpCut } from '../../support/peers/tcp-cut.ts';
import { startBoardPeer } from '../../support/peers/waveshare-board-peer.ts';
import { attachMqttModule } from '../../support/peers/waveshare-mqtt-module.ts';
import type { FarSide, ProviderBench } from '../bench.ts';

const metadata = { channel_index: '3' };
const topics = { command: 'board/in', reply: 'board/out' };

/** The replies are cut between the service and the server, which itself always answers. */
async function startOverTcp(transport: 'modbus_tcp' | 'rtu_tcp'): Promise<FarSide> {
  const dialect = transport === 'modbus_tcp' ? 'mbap' : 'rtu';
  const servers: PymodbusPeer[] = [await startPymodbus(dialect)];
  const current = (): PymodbusPeer | undefined => servers.at(-1);
  const port = current()?.port ?? 0;
  const wire = await startTcpCut(port);
  return {
    records: {
      integration: { config: { transport, host: '127.0.0.1', port: wire.port } },
      device: {},
      // Without a pulse: flash is an extension of the vendor that no other Modbus server has.
      entity: { entity_type: 'switch', metadata },
    },
    cannot: 'ring',
    opens: () => servers.flatMap((server) => server.changes()).filter((line) => line === 'coil 3 1'),
    faults: {
      loseReply: (lost) => wire.cut(lost ? 'replies' : 'none'),
      refuse: (refusing) => current()?.refuse(refusing),
    },
    async stop() {
      await current()?.stop();
      await wire.close();
    },
    async restart() {
      servers.push(await startPymodbus(dialect, port));
      await wire.open();
    },
    async close() {
      await wire.close();
      await current()?.stop();
    },
  };
}

async function startOverMqtt(): Promise<FarSide> {
  const broker = await startMosquitto();
  const board = await startBoardPeer('rtu');
  const attach = async () => attachMqttModule(await broker.client(), board, topics);
  let module = await attach();
  const opened = '0502030032';
  return {
    records: {
      integration: {
        config: {
          transport: 'rtu_mqtt',
          broker_host: '127.0.0.1',
          broker_port: broker.port,
          command_topic: topics.command,
          reply_topic: topics.reply,
        },
      },
      device: {},
      entity: { entity_type: 'door', metadata },
    },
    cannot: 'ring',
    opens: () => board.writes.filter((write) => write === opened),
    faults: {
      loseReply: (lost) => board.fault({ kind: lost ? 'drop_reply' : 'none' }),
      refuse: (refusing) => board.fault(refusing ? { kind: 'exception', code: 2 } : { kind: 'none' }),
    },
    async stop() {
      await module.detach();
      await board.stop();
    },
    async restart() {
      await board.start();
      module = await attach();
    },
    async close() {
      await module.detach();
      await board.stop();
      await broker.close();
    },
  };
}

export const waveshareBenches: readonly ProviderBench[] = [
  {
    provider: 'waveshare',
    transport: 'Modbus TCP',
    peer: 'real pymodbus',
    start: () => startOverTcp('modbus_tcp'),
  },
  {
    provider: 'waveshare',
    transport: 'RTU over TCP',
    peer: 'real pymodbus',
    start: () => startOverTcp('rtu_tcp'),
  },
  {
    provider: 'waveshare',
    transport: 'RTU over MQTT',
    peer: 'twin on real mosquitto',
    start: startOverMqtt,
  },
];

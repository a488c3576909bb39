import type { MqttClient } from 'mqtt';
import { eventually } from '../../support/eventually.ts';
import { type Mosquitto, startMosquitto } from '../../support/peers/mosquitto.ts';
import type { FarSide, ProviderBench } from '../bench.ts';

const commandTopic = 'door/1/set';
const stateTopic = 'door/1/state';
const login = { username: 'lintel', password: 'broker-password-77' };
const allowed = 'topic readwrite door/#\nuser lintel\ntopic readwrite door/#\n';
const forbidden = 'topic readwrite door/#\nuser lintel\ntopic read door/#\n';

/** A door that notes what it hears and reports the state it takes. */
async function plugInDoor(broker: Mosquitto, heard: string[], isMute: () => boolean): Promise<MqttClient> {
  const client = await broker.client({ protocolVersion: 4 });
  client.on('message', (_topic, payload) => {
    heard.push(`${commandTopic} ${payload}`);
    if (!isMute()) client.publish(stateTopic, payload);
  });
  await client.subscribeAsync(commandTopic, { qos: 1 });
  client.publish(stateTopic, 'OFF', { retain: true });
  return client;
}

/** The broker reads its rules again in its own time: whoever asks it knows when it has. */
async function forbid(broker: Mosquitto, refusing: boolean): Promise<void> {
  broker.reload({ acl: refusing ? forbidden : allowed });
  const probe = await broker.client(login);
  const isRefused = (): Promise<boolean> =>
    probe.publishAsync('door/probe', '', { qos: 1 }).then(
      () => false,
      () => true,
    );
  await eventually(async () => (await isRefused()) === refusing);
  await probe.endAsync();
}

async function start(protocolVersion: 4 | 5): Promise<FarSide> {
  const broker = await startMosquitto({ lines: ['acl_file {dir}/acl'], files: { acl: allowed } });
  const heard: string[] = [];
  let mute = false;
  const plugIn = (): Promise<MqttClient> => plugInDoor(broker, heard, () => mute);
  let door = await plugIn();
  const loseReply = (lost: boolean): void => {
    mute = lost;
  };
  return {
    records: {
      integration: {
        config: {
          broker_host: '127.0.0.1',
          broker_port: broker.port,
          protocol_version: protocolVersion,
        },
        secrets: login,
      },
      device: {},
      entity: {
        entity_type: 'door',
        metadata: { command_topic: commandTopic, state_topic: stateTopic },
      },
    },
    cannot: 'ring',
    opens: () => heard.filter((line) => line.endsWith(' ON')),
    faults: {
      loseReply,
      // Only version 5 tells the sender that it may not.
      ...(protocolVersion === 5 ? { refuse: (refusing) => forbid(broker, refusing) } : {}),
    },
    async stop() {
      door.end(true);
      await broker.kill();
    },
    async restart() {
      await broker.start();
      door = await plugIn();
    },
    close: () => broker.close(),
  };
}

export const mqttBenches: readonly ProviderBench[] = ([5, 4] as const).map((version) => ({
  provider: 'mqtt',
  transport: version === 5 ? 'MQTT 5' : 'MQTT 3.1.1',
  peer: 'real mosquitto',
  start: () => start(version),
}));

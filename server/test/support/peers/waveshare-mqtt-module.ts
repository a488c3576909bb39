import { connect as connectTcp } from 'node:net';
import type { MqttClient } from 'mqtt';
import type { BoardPeer } from './waveshare-board-peer.ts';

/** The board's network module as MQTT client in transparent mode: payload to the serial side, its answers published. */
export async function attachMqttModule(
  client: MqttClient,
  board: BoardPeer,
  topics: { readonly command: string; readonly reply: string },
): Promise<{ detach(): Promise<void> }> {
  const serial = connectTcp(board.port, '127.0.0.1');
  serial.on('error', () => undefined);
  serial.on('data', (bytes) => void client.publish(topics.reply, bytes, { qos: 1 }));
  client.on('message', (_topic, payload) => void serial.write(payload));
  await client.subscribeAsync(topics.command, { qos: 1 });
  return {
    async detach() {
      await client.endAsync();
      serial.destroy();
    },
  };
}

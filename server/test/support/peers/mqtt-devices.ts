// Many simulated switches in a process of their own, so that their memory is not taken for that of the service. Each has
// its own connection, as real ones do: `<port> <count>` as arguments, `state ON|OFF` on stdin is what all of them are
// from now on. Prints `ready <n>` with the number of switches that are connected, subscribed and have told their state.
import { createInterface } from 'node:readline';
import { connect, type MqttClient } from 'mqtt';

const [port = 0, count = 0] = process.argv.slice(2).map(Number);
const ready = new Set<number>();
const clients: MqttClient[] = [];
let state = 'OFF';

const tell = (index: number, text: string): void =>
  void clients[index]?.publish(`soak/${index}/state`, text, { qos: 1, retain: true });

function plugIn(index: number): MqttClient {
  // No two come back at the same moment, as no two real ones would.
  const reconnectPeriod = 500 + ((index * 7) % 1500);
  const client = connect({
    host: '127.0.0.1',
    port,
    protocolVersion: 4,
    clientId: `switch${index}`,
    reconnectPeriod,
    resubscribe: false,
  });
  client.on('connect', () =>
    client.subscribe(`soak/${index}/set`, { qos: 1 }, (error) => {
      if (error !== null) return;
      tell(index, state);
      ready.add(index);
      console.log(`ready ${ready.size}`);
    }),
  );
  client.on('message', (_topic, payload) => tell(index, payload.toString()));
  client.on('close', () => void (ready.delete(index) && console.log(`ready ${ready.size}`)));
  client.on('error', () => undefined);
  return client;
}

for (let index = 0; index < count; index += 1) clients.push(plugIn(index));

createInterface({ input: process.stdin })
  .on('line', (line) => {
    state = line.split(' ')[1] ?? state;
    for (const index of ready) tell(index, state);
  })
  .on('close', () => process.exit(0));

// DOOR: a device in a process of its own, which writes down and syncs every command before it answers. Over HTTP it is a
// Tasmota at each address 127.0.a.b of its port, with 32 relays; over MQTT it is every switch `door/<n>` of a broker.
// Arguments: the log, the broker's port or 0. On stdin: `kill <pid> <n>` ends a process right after the n-th command from
// now is written and before it is answered; `hold <ms>` lets answers wait; `off` and `on` are its plug at the broker.
import { fsyncSync, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { connect, type MqttClient } from 'mqtt';

const [file = '', brokerPort = '0'] = process.argv.slice(2);
const log = openSync(file, 'a');
let victim = 0;
let passes = 0;
let holdMs = 0;

function take(door: string, command: string, transport: string): void {
  writeSync(log, `${JSON.stringify({ at: Date.now(), door, command, transport })}\n`);
  fsyncSync(log);
  if (passes === 0) return;
  passes -= 1;
  if (passes === 0) process.kill(victim, 'SIGKILL');
}

const answer = (reply: () => void): void => void (holdMs === 0 ? reply() : setTimeout(reply, holdMs));

const http = createServer((request, response) => {
  const host = request.socket.localAddress ?? '';
  const command = new URL(request.url ?? '/', 'http://door').searchParams.get('cmnd') ?? '';
  const [, channel, word] = /^POWER(\d+) (ON|OFF)$/.exec(command) ?? [];
  const states = Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`POWER${index + 1}`, 'OFF']));
  if (channel === undefined) return void response.end(JSON.stringify({ Uptime: '0T00:00:01', ...states }));
  take(`${host}/${channel}`, word ?? '', 'http');
  answer(() => response.end(JSON.stringify({ [`POWER${channel}`]: word })));
});

let plug: MqttClient | null = null;
function plugIn(): void {
  const client = connect({
    host: '127.0.0.1',
    port: Number(brokerPort),
    protocolVersion: 4,
    reconnectPeriod: 50,
    // The worst kind of device: the broker keeps for it what comes while it is away.
    clean: false,
    clientId: 'door',
  });
  client.on('connect', () =>
    client.subscribe('door/+/set', { qos: 1 }, (error) => {
      if (error === null) console.log('plugged in');
    }),
  );
  client.on('message', (topic, payload, { retain }) => {
    const [, name = ''] = topic.split('/');
    take(`mqtt/${name}`, `${payload}${retain ? ' retained' : ''}`, 'mqtt');
    answer(() => client.publish(`door/${name}/state`, payload));
  });
  client.on('error', () => undefined);
  plug = client;
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [word, first = '0', second = '0'] = line.split(' ');
    if (word === 'kill') [victim, passes] = [Number(first), Number(second)];
    if (word === 'hold') holdMs = Number(first);
    if (word === 'off') plug?.end(true);
    if (word === 'on') plugIn();
    console.log(`done ${line}`);
  })
  .on('close', () => process.exit(0));

if (brokerPort !== '0') plugIn();
http.listen(0, '0.0.0.0', () => console.log(`port ${(http.address() as AddressInfo).port}`));

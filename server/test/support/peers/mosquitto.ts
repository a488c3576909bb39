import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { freePort } from './free-port.ts';

export interface MosquittoOptions {
  /** Further lines of its configuration; `{dir}` is the directory that holds `files`. */
  readonly lines?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  /** Writes a log of everything, across restarts. */
  readonly logs?: boolean;
}

/** The real broker, as a child of the test. Nothing survives a restart, retained messages included. */
export interface Mosquitto {
  readonly port: number;
  /** As a power cut. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** New contents for some of its `files`, which it reads again while it runs. */
  reload(files: Readonly<Record<string, string>>): void;
  /** What clients have published on topics that fit, as the broker itself wrote it down; needs `logs`. */
  published(topic: RegExp): string[];
  /** The id of every client it let in, one for each time; needs `logs`. */
  admitted(): string[];
  client(options?: IClientOptions): Promise<MqttClient>;
  close(): Promise<void>;
}

export async function startMosquitto({
  lines = [],
  files = {},
  logs = false,
}: MosquittoOptions = {}): Promise<Mosquitto> {
  const dir = mkdtempSync(join(tmpdir(), 'lintel-mosquitto-'));
  const port = await freePort();
  // Started by root it would change to a user that can not read its files; started by others it ignores the line.
  const base = ['user root', `listener ${port} 127.0.0.1`, 'persistence false'];
  const anonymous = lines.some((line) => line.startsWith('allow_anonymous')) ? [] : ['allow_anonymous true'];
  const log = logs ? ['log_dest file {dir}/log', 'log_type all'] : [];
  const config = [...base, ...anonymous, ...log, ...lines];
  const write = (contents: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(contents))
      writeFileSync(join(dir, name), text, { mode: 0o600 });
  };
  write(files);
  writeFileSync(join(dir, 'mosquitto.conf'), `${config.join('\n').replaceAll('{dir}', dir)}\n`);
  const clients: MqttClient[] = [];
  let broker: ChildProcess | null = null;
  const logText = (): string => readFileSync(join(dir, 'log'), 'utf8');

  const start = async (): Promise<void> => {
    broker = spawn('/usr/sbin/mosquitto', ['-c', join(dir, 'mosquitto.conf')], { stdio: 'ignore' });
    await listening(port, broker);
  };
  const kill = async (): Promise<void> => {
    if (broker === null) return;
    const gone = once(broker, 'exit');
    broker.kill('SIGKILL');
    await gone;
    broker = null;
  };
  await start();
  return {
    port,
    start,
    kill,
    reload: (contents) => {
      write(contents);
      broker?.kill('SIGHUP');
    },
    published: (topic) => publishedTopics(logText()).filter((name) => topic.test(name)),
    admitted: () =>
      [...logText().matchAll(/: New client connected from \S+ as (\S+) /g)].map(([, id = '']) => id),
    client: async (options = {}) => {
      const client = await connectAsync({ host: '127.0.0.1', port, protocolVersion: 5, ...options });
      clients.push(client);
      return client;
    },
    close: async () => {
      for (const client of clients) client.end(true);
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function publishedTopics(log: string): string[] {
  return [...log.matchAll(/: Received PUBLISH from \S+ \(.*?'(.*?)'/g)].map(([, topic = '']) => topic);
}

async function listening(port: number, broker: ChildProcess): Promise<void> {
  while (broker.exitCode === null) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
    if (open) return;
    await delay(20);
  }
  throw new Error(`mosquitto ended with ${broker.exitCode}`);
}

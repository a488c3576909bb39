import { connectAsync, type MqttClient } from 'mqtt';
import { type HttpPeer, type PeerAnswer, startHttpPeer } from './http-peer.ts';

/**
 * silent   switches and says nothing
 * locked   PowerLock: answers with the state it keeps
 * unknown  firmware without the command
 */
export type TasmotaFault = 'silent' | 'locked' | 'unknown' | null;

/** A switch with the firmware's behaviour (wire-facts 1): what it says, in which order, and what it lets the broker keep. */
export interface TasmotaRelays {
  /** Every switching command that arrived, as `POWER1 ON`. */
  readonly commands: string[];
  isOn(channel: number): boolean;
  fault(fault: TasmotaFault): void;
  /** PulseTime of every relay, in milliseconds; 0 is none. */
  pulse(ms: number): void;
  /** As somebody at the wall would. */
  press(channel: number): void;
}

interface Relays extends TasmotaRelays {
  /** The members of the answer to one command; null for silence. */
  command(name: string, payload: string): Record<string, unknown> | null;
  onSwitch(listener: (channel: number) => void): void;
  key(channel: number): string;
  word(channel: number): string;
}

interface Outputs {
  pulseMs: number;
  isOn(channel: number): boolean;
  put(channel: number, wanted: boolean): void;
}

/** `released`: a pulse has ended. */
function createOutputs(released: (channel: number) => void): Outputs {
  const on = new Set<number>();
  const timers = new Map<number, NodeJS.Timeout>();
  const outputs: Outputs = {
    pulseMs: 0,
    isOn: (channel) => on.has(channel),
    put(channel, wanted) {
      if (wanted) on.add(channel);
      else on.delete(channel);
      clearTimeout(timers.get(channel));
      if (!wanted || outputs.pulseMs === 0) return;
      const release = (): void => {
        on.delete(channel);
        released(channel);
      };
      timers.set(channel, setTimeout(release, outputs.pulseMs));
    },
  };
  return outputs;
}

function createRelays(count: number): Relays {
  const commands: string[] = [];
  let fault: TasmotaFault = null;
  let tell: (channel: number) => void = () => undefined;
  const outputs = createOutputs((channel) => tell(channel));
  const { isOn, put } = outputs;
  const key = (channel: number): string => (count === 1 ? 'POWER' : `POWER${channel}`);
  const word = (channel: number): string => (isOn(channel) ? 'ON' : 'OFF');
  const states = (): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [key(index + 1), word(index + 1)]));

  return {
    commands,
    key,
    word,
    isOn,
    fault: (next) => {
      fault = next;
    },
    pulse: (ms) => {
      outputs.pulseMs = ms;
    },
    press: (channel) => {
      put(channel, !isOn(channel));
      tell(channel);
    },
    onSwitch: (listener) => {
      tell = listener;
    },
    command(name, payload) {
      if (name.toUpperCase() === 'STATE')
        return { Time: '2026-01-02T03:04:05', Uptime: '0T00:01:00', ...states(), Wifi: { RSSI: 70 } };
      if (name.toUpperCase() === 'STATUS') return status(states());
      const pulsed = /^PULSETIME(\d+)$/i.exec(name)?.[1];
      if (pulsed !== undefined) {
        commands.push(`PulseTime${pulsed} ${payload}`);
        if (fault === 'unknown' || Number(pulsed) > count) return { Command: 'Unknown' };
        outputs.pulseMs = pulseMsOf(Number(payload));
        return fault === 'silent' ? null : { [`PulseTime${pulsed}`]: { Set: Number(payload), Remaining: 0 } };
      }
      const channel = Number(/^POWER(\d*)$/i.exec(name)?.[1] || '1');
      if (payload === '') return { [key(channel)]: word(channel) };
      commands.push(`${name} ${payload}`);
      if (fault === 'unknown' || channel > count) return { Command: 'Unknown' };
      if (fault !== 'locked') put(channel, payload === 'TOGGLE' ? !isOn(channel) : payload === 'ON');
      return fault === 'silent' ? null : { [key(channel)]: word(channel) };
    },
  };
}

const pulseMsOf = (value: number): number => (value < 112 ? value * 100 : (value - 100) * 1000);

/** STATUS 0: over HTTP in one, over MQTT part by part with StatusSTS last. */
const status = (states: Record<string, string>) => ({
  Status: { Module: 1, DeviceName: 'Gate' },
  StatusFWR: { Version: '14.2.0(tasmota)' },
  StatusMQT: { MqttHost: '127.0.0.1', MqttUser: 'canary-login' },
  StatusSTS: { Uptime: '0T00:01:00', ...states },
});

export interface TasmotaMqttOptions {
  readonly port: number;
  readonly topic: string;
  readonly relays?: number;
  /** Where `prefix` stands in the topics. */
  readonly topicOf?: (prefix: string) => string;
}

export interface TasmotaMqttPeer extends TasmotaRelays {
  /** As when the power goes: the broker tells its last will. */
  powerOff(): Promise<void>;
  powerOn(): Promise<void>;
}

export async function startTasmotaMqtt(options: TasmotaMqttOptions): Promise<TasmotaMqttPeer> {
  const relays = createRelays(options.relays ?? 1);
  const topicOf = options.topicOf ?? ((prefix) => `${prefix}/${options.topic}/`);
  let client: MqttClient | null = null;
  const say = (name: string, text: string): void => void client?.publish(`${topicOf('stat')}${name}`, text);
  const tell = (channel: number): void => {
    say('RESULT', JSON.stringify({ [relays.key(channel)]: relays.word(channel) }));
    say(relays.key(channel), relays.word(channel));
  };
  relays.onSwitch(tell);

  async function powerOn(): Promise<void> {
    const lwt = `${topicOf('tele')}LWT`;
    const will = { topic: lwt, payload: Buffer.from('Offline'), qos: 1, retain: true } as const;
    client = await connectAsync({ host: '127.0.0.1', port: options.port, protocolVersion: 4, will });
    client.on('message', (topic, payload) => {
      const name = topic.slice(topicOf('cmnd').length);
      const answer = relays.command(name, payload.toString());
      if (answer === null) return;
      if ('StatusSTS' in answer) {
        for (const [index, part] of Object.entries(answer).entries())
          say(`STATUS${index || ''}`, JSON.stringify(Object.fromEntries([part])));
        return;
      }
      say('RESULT', JSON.stringify(answer));
      for (const [key, value] of Object.entries(answer))
        if (/^POWER\d*$/.test(key) && !('Uptime' in answer)) say(key, String(value));
    });
    await client.publishAsync(lwt, 'Online', { retain: true, qos: 1 });
    client.publish(`${topicOf('cmnd')}POWER`, '');
    await client.subscribeAsync(`${topicOf('cmnd')}#`, { qos: 0 });
  }
  await powerOn();
  return {
    ...relays,
    powerOn,
    powerOff: async () => {
      const gone = client;
      client = null;
      await gone?.endAsync(true);
    },
  };
}

export interface TasmotaHttpPeer extends TasmotaRelays {
  readonly http: HttpPeer;
}

/** With a password it answers a wrong login as newer firmware does (401) or as older does (200 with the same body). */
export async function startTasmotaHttp(
  login: { readonly password?: string; readonly oldFirmware?: boolean; readonly relays?: number } = {},
): Promise<TasmotaHttpPeer> {
  const relays = createRelays(login.relays ?? 1);
  const expected = `Basic ${Buffer.from(`admin:${login.password}`).toString('base64')}`;
  const http = await startHttpPeer(({ path, query, headers }): PeerAnswer => {
    if (path !== '/cm') return { status: 404, body: 'Not found' };
    if (login.password !== undefined && headers.authorization !== expected)
      return {
        status: login.oldFirmware ? 200 : 401,
        body: { WARNING: 'Need user=<username>&password=<password>' },
      };
    const [name = '', payload = ''] = (query.get('cmnd') ?? '').split(' ');
    if (name === '') return { status: 200, body: { WARNING: 'Enter command cmnd=' } };
    return { status: 200, body: relays.command(name, payload) ?? {} };
  });
  return { ...relays, http };
}

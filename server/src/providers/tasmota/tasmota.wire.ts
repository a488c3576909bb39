import type { DiscoveredDevice, ObservedStatus, Verb } from '../provider.ts';

export const DEFAULT_FULL_TOPIC = '%prefix%/%topic%/';

export interface TasmotaTopics {
  /** The name of a command is the last level. */
  readonly command: (name: string) => string;
  readonly allCommands: string;
  readonly answers: string;
  readonly presence: string;
  readonly telemetry: string;
  /** The last level of a topic on which the device answers; null for any other topic. */
  readonly answerName: (topic: string) => string | null;
}

/** FullTopic may put its parts in any order, so the template is what is kept. */
export function topicsOf(deviceTopic: string, fullTopic: string): TasmotaTopics {
  const base = (prefix: string): string =>
    `${fullTopic.replaceAll('%prefix%', prefix).replaceAll('%topic%', deviceTopic)}/`.replace(/\/+$/, '/');
  const [commands, answers, telemetry] = [base('cmnd'), base('stat'), base('tele')];
  return {
    command: (name) => `${commands}${name}`,
    allCommands: `${commands}#`,
    answers: `${answers}+`,
    presence: `${telemetry}LWT`,
    telemetry: `${telemetry}STATE`,
    answerName: (topic) => (topic.startsWith(answers) ? topic.slice(answers.length) : null),
  };
}

export const powerName = (channel: number): string => `POWER${channel}`;

const payloads: Readonly<Record<Verb, string>> = { open: 'ON', close: 'OFF', toggle: 'TOGGLE' };
export const powerPayload = (verb: Verb): string => payloads[verb];

/** 1-based; null when the metadata holds something else. */
export function channelOf(metadata: Readonly<Record<string, string>>): number | null {
  const channel = Number(metadata.channel_index ?? '1');
  return Number.isInteger(channel) && channel >= 1 && channel <= 32 ? channel : null;
}

/** StateText can rename ON and OFF. */
export interface StateTexts {
  readonly on: string;
  readonly off: string;
}

/** What a device says of its relays, and whether it says it because of a command. */
export interface TasmotaReport {
  readonly powers: ReadonlyMap<number, ObservedStatus>;
  /** A whole status with its uptime answers a question about the state, never a switching command. */
  readonly isStatus: boolean;
  /** The device does not know the command it was sent. */
  readonly unknownCommand: boolean;
}

const nothing: TasmotaReport = { powers: new Map(), isStatus: false, unknownCommand: false };

/** `name` is the last level of the topic: POWERn carries the plain word, or JSON with SetOption4. */
export function parseReport(name: string, payload: string, texts: StateTexts): TasmotaReport {
  const channel = channelIn(name);
  const status = statusOf(payload.trim(), texts);
  if (channel !== null && status !== null) return { ...nothing, powers: new Map([[channel, status]]) };
  const members = parseObject(payload);
  return members === null ? nothing : reportOf(members, texts);
}

export function reportOf(members: Readonly<Record<string, unknown>>, texts: StateTexts): TasmotaReport {
  const powers = Object.entries(members).flatMap(([key, value]): [number, ObservedStatus][] => {
    const channel = channelIn(key);
    if (channel === null || typeof value !== 'string') return [];
    return [[channel, statusOf(value, texts) ?? 'unknown']];
  });
  return {
    powers: new Map(powers),
    isStatus: Object.hasOwn(members, 'Uptime'),
    unknownCommand: members.Command === 'Unknown',
  };
}

/** A device with one relay says POWER, also when it was sent POWER1. */
function channelIn(key: string): number | null {
  const match = /^POWER(\d{0,2})$/.exec(key);
  return match === null ? null : Number(match[1] || '1');
}

function statusOf(text: string, { on, off }: StateTexts): ObservedStatus | null {
  if (text === on) return 'open';
  return text === off ? 'closed' : null;
}

export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** A toggle is answered by either state. */
export function isWanted(verb: Verb, status: ObservedStatus | undefined): status is 'open' | 'closed' {
  if (status === undefined || status === 'unknown') return false;
  return verb === 'toggle' || status === (verb === 'open' ? 'open' : 'closed');
}

export type HttpReading =
  | { readonly kind: 'report'; readonly report: TasmotaReport }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unclear'; readonly reason: string };

/** Old firmware answers a wrong login with 200 and a warning; a web server in user mode sends its start page. */
export function readHttpAnswer(status: number, body: string, texts: StateTexts): HttpReading {
  if (status >= 400 && status < 500)
    return { kind: 'refused', reason: `the device refused the command (${status})` };
  if (status !== 200) return { kind: 'unclear', reason: `the device answered ${status}` };
  const members = parseObject(body);
  if (members === null) {
    return /^\s*</.test(body)
      ? { kind: 'refused', reason: 'the device answered with a page: its commands are switched off' }
      : { kind: 'unclear', reason: 'the answer of the device is not readable' };
  }
  const report = reportOf(members, texts);
  if (report.powers.size > 0) return { kind: 'report', report };
  if (Object.hasOwn(members, 'WARNING'))
    return { kind: 'refused', reason: 'the device refused the login or the command' };
  if (report.unknownCommand) return { kind: 'refused', reason: 'the device does not know this channel' };
  return { kind: 'unclear', reason: 'the device answered without a state' };
}

/** PulseTime: tenths of a second up to 11.1 s, above that seconds + 100. */
export function pulseTimeOf(seconds: number): number {
  if (seconds <= 0) return 0;
  return seconds <= 11.1 ? Math.max(1, Math.round(seconds * 10)) : Math.max(112, Math.round(seconds) + 100);
}

export const secondsOf = (pulseTime: number): number => (pulseTime < 112 ? pulseTime / 10 : pulseTime - 100);

/** `{"PulseTime1":{"Set":15,"Remaining":0}}` */
export function readPulseTime(members: Readonly<Record<string, unknown>>, channel: number): number | null {
  const answer = members[`PulseTime${channel}`];
  const set: unknown = typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'Set') : null;
  return typeof set === 'number' ? set : null;
}

export const DISCOVERY_FILTER = 'tasmota/discovery/+/config';
export const isDiscoveryTopic = (topic: string): boolean => /^tasmota\/discovery\/[^/]+\/config$/.test(topic);

/** What a device keeps at the broker about itself: t topic, dn its name, md the module, rl the kind of each relay. */
export function readDiscovery(payload: string): DiscoveredDevice | null {
  const { t: topic, dn: name, md: model, rl: relays } = parseObject(payload) ?? {};
  if (typeof topic !== 'string' || topic === '' || topic.length > 100) return null;
  return {
    externalId: topic,
    name: typeof name === 'string' && name !== '' ? name.slice(0, 200) : topic,
    ...(typeof model === 'string' && model !== '' ? { model: model.slice(0, 64) } : {}),
    ...(Array.isArray(relays) ? { channelCount: relays.filter((kind) => kind !== 0).length } : {}),
  };
}

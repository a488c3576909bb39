import { MqttClient } from 'mqtt';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { BrokerSettings } from './mqtt-broker.ts';
import { createRetainedGuard, type RetainedGuard } from './mqtt-retained-guard.ts';
import { type Retry, retryLater } from './pacing.ts';
import { openResettingSocket, type ResettingSocket } from './resetting-socket.ts';

export interface MqttMessage {
  readonly topic: string;
  readonly payload: Buffer;
  /** Kept by the broker: it may be old, so it is never an answer to anything. */
  readonly retained: boolean;
}

export interface MqttCommand {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly qos?: 0 | 1;
  /** Monotonic milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/**
 * accepted        the broker acknowledged it
 * written         QoS 0: the broker has read it, and nobody will acknowledge it
 * no_subscribers  the broker had nobody to give it to (v5 0x10), so nothing can happen any more
 * rejected        the broker refused it (v5 ≥0x80), so nothing can happen any more
 * offline/expired nothing left
 * unanswered      it left and nothing shows that the broker took it: it may have arrived, and can not any more
 */
export type PublishResult =
  | { readonly kind: 'accepted' | 'written' | 'no_subscribers' | 'offline' | 'expired' | 'unanswered' }
  | { readonly kind: 'rejected'; readonly reasonCode: number };

export interface MqttLinkOptions {
  readonly broker: BrokerSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onMessage: (message: MqttMessage) => void;
  readonly onConnected?: () => void;
  readonly onDisconnected?: () => void;
  /** The broker keeps a command on a watched topic. */
  readonly onRetainedCommand?: (topic: string) => void;
}

/** One connection to a broker, which comes back by itself. A command is sent once or not at all, never stored. */
export interface MqttLink {
  connected(): boolean;
  /** Nothing to complain of: every subscription was granted, and no command is kept by the broker. */
  undisturbed(): boolean;
  /** All topic filters wanted from now on; survives reconnects. */
  subscribe(filters: Iterable<string>): void;
  /** All command topics to be searched for retained messages; a filter may end in `/#`. */
  watchCommands(filters: Iterable<string>): void;
  publish(command: MqttCommand): Promise<PublishResult>;
  /** A question that moves nothing: QoS 0, and only when connected. */
  ask(topic: string, payload?: string): void;
  /** Makes the broker forget a retained message; its subscribers receive an empty one. */
  clearRetained(topic: string): void;
  close(): Promise<void>;
}

interface Attempt {
  readonly client: MqttClient;
  readonly socket: ResettingSocket;
  /** Commands on their way, by the packet that shows that the broker took them. */
  readonly unproven: Map<string, (result: PublishResult) => void>;
  readonly underway: Set<Promise<unknown>>;
  readonly pings: { sent: number; answered: number };
  onlineSinceMs: number | null;
}

interface LinkState {
  readonly options: MqttLinkOptions;
  readonly guard: RetainedGuard;
  readonly refused: Set<string>;
  filters: ReadonlySet<string>;
  attempt: Attempt | null;
  retry: Retry | undefined;
  failures: number;
  complained: boolean;
  closed: boolean;
}

export function createMqttLink(options: MqttLinkOptions): MqttLink {
  const state: LinkState = {
    options,
    guard: createRetainedGuard((topic) => {
      options.logger.warn({ topic }, 'the broker keeps a retained command');
      options.onRetainedCommand?.(topic);
    }),
    failures: 0,
    refused: new Set(),
    filters: new Set(),
    attempt: null,
    retry: undefined,
    complained: false,
    closed: false,
  };
  startAttempt(state);
  return {
    connected: () => onlineClient(state) !== null,
    undisturbed: () => state.refused.size === 0 && state.guard.found().size === 0,
    subscribe: (filters) => changeFilters(state, new Set(filters)),
    // A topic that is also listened to for states is left alone: unsubscribing would end both.
    watchCommands: (filters) =>
      state.guard.watch(new Set([...filters].filter((filter) => !state.filters.has(filter)))),
    publish: (command) => publish(state, command),
    ask: (topic, payload = '') => void onlineClient(state)?.publish(topic, payload, { qos: 0 }),
    clearRetained: (topic) => void onlineClient(state)?.publish(topic, '', { qos: 0, retain: true }),
    close: () => closeLink(state),
  };
}

function onlineClient({ attempt, closed }: LinkState): MqttClient | null {
  return attempt !== null && isOnline(attempt) && !closed ? attempt.client : null;
}

const isOnline = ({ client, onlineSinceMs }: Attempt): boolean => onlineSinceMs !== null && client.connected;

/**
 * INVARIANT: a client lives for one connection. MQTT.js repeats unacknowledged publishes when it reconnects, even with
 * a clean session; a client that never reconnects can not.
 */
function startAttempt(state: LinkState): void {
  const { broker } = state.options;
  const socket = openResettingSocket(broker);
  const client = new MqttClient(() => socket.stream, {
    protocolVersion: broker.protocolVersion,
    clientId: broker.clientId,
    clean: true,
    keepalive: 15,
    connectTimeout: 10_000,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
    ...(broker.protocolVersion === 5 ? { properties: { sessionExpiryInterval: 0 } } : {}),
    ...(broker.username === undefined ? {} : { username: broker.username.reveal() }),
    ...(broker.password === undefined ? {} : { password: broker.password.reveal() }),
  });
  const attempt: Attempt = {
    client,
    socket,
    unproven: new Map(),
    underway: new Set(),
    pings: { sent: 0, answered: 0 },
    onlineSinceMs: null,
  };
  state.attempt = attempt;
  client.on('connect', () => onConnect(state, attempt));
  client.on('message', (topic, payload, { retain }) => {
    if (!state.guard.take(topic, retain)) state.options.onMessage({ topic, payload, retained: retain });
  });
  hearProofs(attempt);
  client.on('error', (error) => complain(state, error));
  client.on('close', () => onClose(state, attempt));
}

/** Pings are answered in the order they were sent, those of the keepalive among ours. */
function hearProofs({ client, unproven, pings }: Attempt): void {
  client.on('packetsend', ({ cmd }) => {
    if (cmd === 'pingreq') pings.sent += 1;
  });
  client.on('packetreceive', (packet) => {
    if (packet.cmd === 'puback') unproven.get(`puback ${packet.messageId}`)?.(resultOf(packet.reasonCode));
    if (packet.cmd !== 'pingresp') return;
    pings.answered += 1;
    unproven.get(`pingresp ${pings.answered}`)?.({ kind: 'written' });
  });
}

function resultOf(reasonCode = 0): PublishResult {
  if (reasonCode >= 0x80) return { kind: 'rejected', reasonCode };
  return { kind: reasonCode === 0x10 ? 'no_subscribers' : 'accepted' };
}

function onConnect(state: LinkState, attempt: Attempt): void {
  const { clock, logger, broker, onConnected } = state.options;
  attempt.onlineSinceMs = clock.monotonicMs();
  state.complained = false;
  state.refused.clear();
  logger.info({ broker: `${broker.host}:${broker.port}` }, 'connected to the broker');
  subscribeTo(state, attempt.client, [...state.filters]);
  state.guard.attach(attempt.client);
  onConnected?.();
}

/** Once per outage: a broker that is away for a night is one line, not thousands. */
function complain(state: LinkState, error: Error): void {
  if (state.complained || state.closed) return;
  state.complained = true;
  const { broker, logger } = state.options;
  logger.warn(
    { broker: `${broker.host}:${broker.port}`, reason: error.message },
    'no connection to the broker',
  );
}

/** A broker that takes the connection and drops it at once (two clients with one id) must not reset the wait. */
const STABLE_MS = 10_000;

function onClose(state: LinkState, attempt: Attempt): void {
  if (state.attempt !== attempt) return;
  const { clock, onDisconnected } = state.options;
  const { onlineSinceMs } = attempt;
  state.attempt = null;
  state.guard.attach(null);
  for (const settle of [...attempt.unproven.values()]) settle({ kind: 'unanswered' });
  attempt.client.end(true);
  if (onlineSinceMs !== null) {
    if (clock.monotonicMs() - onlineSinceMs >= STABLE_MS) state.failures = 0;
    complain(state, new Error('the connection was lost'));
    onDisconnected?.();
  }
  if (state.closed) return;
  state.failures += 1;
  state.retry = retryLater(state.failures, 250, 10_000, () => startAttempt(state));
}

function changeFilters(state: LinkState, filters: ReadonlySet<string>): void {
  const added = [...filters].filter((filter) => !state.filters.has(filter));
  const removed = [...state.filters].filter((filter) => !filters.has(filter));
  state.filters = filters;
  for (const filter of removed) state.refused.delete(filter);
  const client = onlineClient(state);
  if (client === null) return;
  subscribeTo(state, client, added);
  if (removed.length > 0) client.unsubscribe(removed);
}

/** `nl`: what this client itself publishes must never come back as the answer of a device. */
function subscribeTo(state: LinkState, client: MqttClient, filters: readonly string[]): void {
  if (filters.length === 0) return;
  client.subscribe([...filters], { qos: 1, nl: true }, (_error, _granted, packet) => {
    const refused = filters.filter((_filter, index) => Number(packet?.granted[index] ?? 0) >= 0x80);
    if (refused.length === 0) return;
    for (const filter of refused) state.refused.add(filter);
    state.options.logger.warn({ filters: refused }, 'the broker refused a subscription');
  });
}

async function publish(state: LinkState, command: MqttCommand): Promise<PublishResult> {
  if (onlineClient(state) === null) return { kind: 'offline' };
  if (!isInTime(state, command)) return { kind: 'expired' };
  await Promise.race([state.guard.settled(), deadlineOf(state, command)]);
  const { attempt } = state;
  if (attempt === null || onlineClient(state) === null) return { kind: 'offline' };
  if (!isInTime(state, command)) return { kind: 'expired' };
  const result = publishProven(state, attempt, command);
  attempt.underway.add(result);
  return result.finally(() => attempt.underway.delete(result));
}

const isInTime = ({ options }: LinkState, { deadlineMs, signal }: MqttCommand): boolean =>
  !signal.aborted && options.clock.monotonicMs() < deadlineMs;

function publishOptions({ options }: LinkState, { qos = 1, deadlineMs }: MqttCommand) {
  const seconds = Math.floor((deadlineMs - options.clock.monotonicMs()) / 1000);
  // Whole seconds, and 0 would not be an expiry to every broker.
  const messageExpiryInterval = Math.min(5, Math.max(1, seconds));
  return { qos, retain: false, properties: { messageExpiryInterval } };
}

async function publishProven(
  state: LinkState,
  attempt: Attempt,
  command: MqttCommand,
): Promise<PublishResult> {
  const proven = Promise.withResolvers<PublishResult>();
  const proof = write(state, attempt, command);
  attempt.unproven.set(proof, proven.resolve);
  const result = await Promise.race([proven.promise, deadlineOf(state, command)]);
  attempt.unproven.delete(proof);
  if (result !== null) return result;
  // The command may still wait in a buffer behind a network or a broker that hangs: it must not arrive afterwards.
  attempt.socket.reset();
  onClose(state, attempt);
  return { kind: 'unanswered' };
}

/** Returns what will show that the broker has it. */
function write(state: LinkState, { client, pings }: Attempt, command: MqttCommand): string {
  client.publish(command.topic, command.payload, publishOptions(state, command));
  if (command.qos !== 0) return `puback ${client.getLastMessageId()}`;
  // Nothing acknowledges QoS 0, but a broker reads in order: who answers a ping has read what was sent before it.
  client.sendPing();
  return `pingresp ${pings.sent}`;
}

/** Resolves to null when the command's time is over. */
function deadlineOf({ options }: LinkState, { deadlineMs, signal }: MqttCommand): Promise<null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), Math.max(0, deadlineMs - options.clock.monotonicMs()));
    timer.unref();
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });
}

async function closeLink(state: LinkState): Promise<void> {
  if (state.closed) return;
  state.closed = true;
  state.retry?.cancel();
  const { attempt } = state;
  if (attempt === null) return;
  const gone = new Promise<void>((resolve) => attempt.client.once('close', resolve));
  const patience = setTimeout(attempt.socket.reset, 500);
  await Promise.race([Promise.all(attempt.underway), gone]);
  attempt.client.end(!isOnline(attempt));
  await gone;
  clearTimeout(patience);
}

import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { BrokerSettings } from '../transport/mqtt-broker.ts';
import {
  createMqttLink,
  type MqttLink,
  type MqttMessage,
  type PublishResult,
} from '../transport/mqtt-link.ts';
import { createTurns } from '../transport/turns.ts';
import { answerKey, type Reply, readReply, rtuFraming } from './waveshare.wire.ts';
import type { Exchange, Limits, Line } from './waveshare-line.ts';

export interface MqttLineOptions {
  readonly broker: BrokerSettings;
  /** What the board is subscribed to, and what it publishes on: raw RTU frames both. */
  readonly commandTopic: string;
  readonly replyTopic: string;
  readonly unit: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onReady: () => void;
}

interface Pending {
  readonly request: Buffer;
  readonly settle: (reply: Reply) => void;
}

interface MqttLineState {
  readonly options: MqttLineOptions;
  readonly link: MqttLink;
  pending: Pending | null;
  /** Until when an answer to a lost request may still arrive, by what it would look like. */
  readonly owed: Map<string, number>;
}

/** What expiry a message has at least at the broker, and what a board that got it at the last moment needs to answer. */
const SHORTEST_EXPIRY_MS = 1_000;
const ANSWER_MS = 1_000;
const NO_ANSWER: Exchange = { kind: 'lost', reason: 'the board did not answer' };
const NO_LATER: Exchange = { kind: 'not_sent', reason: 'an earlier answer may still be on its way' };

export function createMqttLine(options: MqttLineOptions): Line {
  const { broker, clock, logger, commandTopic, replyTopic, onReady } = options;
  const link = createMqttLink({
    broker,
    clock,
    logger,
    onMessage: (message) => hear(state, message),
    onConnected: onReady,
  });
  const state: MqttLineState = { options, link, pending: null, owed: new Map() };
  const turns = createTurns();
  link.subscribe([replyTopic]);
  link.watchCommands([commandTopic]);
  return {
    async exchange(request, limits) {
      const withinMs = Math.max(0, limits.sendBeforeMs - clock.monotonicMs());
      const exchange = await turns.take({ urgent: limits.urgent, withinMs }, () =>
        transact(state, request, limits),
      );
      return exchange ?? { kind: 'not_sent', reason: 'the board was busy until the deadline' };
    },
    isUndisturbed: link.undisturbed,
    close: link.close,
  };
}

/** A retained message is no answer: nobody knows to what. */
function hear({ options, pending }: MqttLineState, { payload, retained }: MqttMessage): void {
  if (pending === null || retained) return;
  const frame = rtuFraming.decode(payload);
  if (frame === null || frame === 'malformed' || frame.unit !== options.unit) return;
  const reply = frame.length === payload.length ? readReply(pending.request, frame.pdu) : null;
  if (reply !== null) pending.settle(reply);
}

/**
 * RTU has no transaction numbers and a broker no connection to the board that could be dropped: an answer is known only
 * by what it looks like. So what was lost is not asked again while its answer could still arrive.
 */
async function transact(state: MqttLineState, request: Buffer, limits: Limits): Promise<Exchange> {
  const { clock } = state.options;
  const key = answerKey(request);
  if ((state.owed.get(key) ?? 0) > clock.monotonicMs()) return NO_LATER;
  const lastMs = Math.max(limits.sendBeforeMs, clock.monotonicMs() + SHORTEST_EXPIRY_MS);
  const answered = Promise.withResolvers<Exchange>();
  let timer: NodeJS.Timeout | undefined;
  const pending: Pending = { request, settle: (reply) => answered.resolve({ kind: 'reply', reply }) };
  state.pending = pending;
  void publish(state, request, limits).then((result) => {
    const failure = failureOf(result);
    if (failure !== null) answered.resolve(failure);
    else if (state.pending === pending) timer = setTimeout(answered.resolve, limits.replyWithinMs, NO_ANSWER);
  });
  const exchange = await answered.promise;
  clearTimeout(timer);
  state.pending = null;
  if (exchange.kind === 'lost') state.owed.set(key, lastMs + ANSWER_MS);
  else state.owed.delete(key);
  return exchange;
}

function publish({ options, link }: MqttLineState, request: Buffer, limits: Limits): Promise<PublishResult> {
  return link.publish({
    topic: options.commandTopic,
    payload: rtuFraming.encode(options.unit, 0, request),
    deadlineMs: limits.sendBeforeMs,
    signal: limits.signal ?? new AbortController().signal,
  });
}

/** Null when it has left: then only the board can tell. */
function failureOf(result: PublishResult): Exchange | null {
  switch (result.kind) {
    case 'offline':
      return { kind: 'not_sent', reason: 'there is no connection to the broker' };
    case 'expired':
      return { kind: 'not_sent', reason: 'the deadline has passed' };
    case 'no_subscribers':
      return { kind: 'not_sent', reason: 'no board listens to the command topic' };
    case 'rejected':
      return { kind: 'not_sent', reason: 'the broker does not allow the command topic' };
    case 'unanswered':
      return { kind: 'lost', reason: 'the broker did not acknowledge' };
    case 'accepted':
    case 'written':
      return null;
  }
}

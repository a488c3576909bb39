import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { type Retry, retryLater } from '../transport/pacing.ts';
import { createTurns } from '../transport/turns.ts';
import type { Telegram } from './knx.wire.ts';
import { type Channel, type ChannelOptions, type KnxTiming, openChannel, type Sent } from './knx-channel.ts';

export interface TunnelTiming extends KnxTiming {
  readonly paceMs: number;
  readonly retryFromMs: number;
  /** After so much silence a command first asks whether the gateway still knows us. */
  readonly silentForMs: number;
}

export interface TunnelOptions {
  readonly host: string;
  readonly port: number;
  readonly localIp: string | undefined;
  readonly individualAddress: number | null;
  readonly timing: TunnelTiming;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onIndication: (telegram: Telegram) => void;
  readonly onUp: () => void;
  /** An attempt to connect failed: what happens on the bus is out of sight. */
  readonly onOutOfSight: () => void;
}

export interface SendLimits {
  readonly urgent: boolean;
  /** Monotonic milliseconds after which the first byte may not leave any more. */
  readonly sendBeforeMs: number;
  readonly signal?: AbortSignal;
}

/** Keeps a channel to the gateway, as long as it is not closed. */
export interface Tunnel {
  state(): 'up' | 'connecting' | 'failing';
  send(cemi: Buffer, limits: SendLimits): Promise<Sent>;
  close(): Promise<void>;
}

interface TunnelState {
  readonly options: TunnelOptions;
  readonly stopping: AbortController;
  channel: Channel | null;
  /** The attempt that is under way, which ends in any case. */
  attempt: Promise<void>;
  failures: number;
  retry: Retry | undefined;
  lastSentMs: number;
  closed: boolean;
}

const RETRY_CAP_MS = 60_000;
const CHECK_WITHIN_MS = 1_000;
/** How long a close waits for an attempt, so that the gateway is not left with a slot nobody uses. */
const CLOSE_WITHIN_MS = 1_000;

const notSent = (reason: string): Sent => ({ kind: 'not_sent', reason });

export function createTunnel(options: TunnelOptions): Tunnel {
  const state: TunnelState = {
    options,
    stopping: new AbortController(),
    channel: null,
    attempt: Promise.resolve(),
    failures: 0,
    retry: undefined,
    lastSentMs: 0,
    closed: false,
  };
  const turns = createTurns();
  state.attempt = attempt(state);
  return {
    state: () => {
      if (state.channel !== null) return 'up';
      return state.failures === 0 ? 'connecting' : 'failing';
    },
    async send(cemi, limits) {
      const withinMs = Math.max(0, limits.sendBeforeMs - options.clock.monotonicMs());
      const sent = await turns.take({ urgent: limits.urgent, withinMs }, () => sendNow(state, cemi, limits));
      return sent ?? notSent('the bus was busy until the deadline');
    },
    close: () => close(state),
  };
}

async function attempt(state: TunnelState): Promise<void> {
  const { options } = state;
  const result = await openChannel(channelOptions(state));
  if (typeof result === 'string') {
    if (state.closed) return;
    options.logger.warn({ reason: result }, 'no KNX tunnel');
    options.onOutOfSight();
    attemptLater(state);
  } else if (state.closed) await result.close();
  else {
    state.channel = result;
    state.failures = 0;
    options.onUp();
  }
}

function channelOptions(state: TunnelState): ChannelOptions {
  const { options } = state;
  return {
    ...options,
    signal: state.stopping.signal,
    onLost: (reason, clean) => {
      if (state.closed) return;
      state.channel = null;
      options.logger.warn({ reason }, 'the KNX tunnel was lost');
      if (clean) state.attempt = attempt(state);
      else attemptLater(state);
    },
  };
}

function attemptLater(state: TunnelState): void {
  state.failures += 1;
  state.retry = retryLater(state.failures, state.options.timing.retryFromMs, RETRY_CAP_MS, () => {
    state.attempt = attempt(state);
  });
}

async function sendNow(state: TunnelState, cemi: Buffer, limits: SendLimits): Promise<Sent> {
  const { clock, timing } = state.options;
  const leftMs = (): number => Math.max(0, limits.sendBeforeMs - clock.monotonicMs());
  if (state.channel === null) await settledWithin(state.attempt, leftMs());
  const { channel } = state;
  if (channel === null) return notSent('there is no tunnel to the bus');
  const isSilent = clock.monotonicMs() - channel.heardMs() > timing.silentForMs;
  if (isSilent && !(await channel.check(Math.min(CHECK_WITHIN_MS, leftMs()), 1))) {
    return notSent('the gateway has lost the tunnel');
  }
  const paceMs = Math.min(leftMs(), state.lastSentMs + timing.paceMs - clock.monotonicMs());
  if (paceMs > 0) await delay(paceMs);
  if (limits.signal?.aborted || leftMs() === 0) return notSent('the deadline has passed');
  state.lastSentMs = clock.monotonicMs();
  return channel.transmit(cemi, limits.sendBeforeMs);
}

async function settledWithin(promise: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, over]);
  clearTimeout(timer);
}

async function close(state: TunnelState): Promise<void> {
  state.closed = true;
  state.retry?.cancel();
  const { channel } = state;
  state.channel = null;
  await channel?.close();
  await settledWithin(state.attempt, CLOSE_WITHIN_MS);
  state.stopping.abort();
  await state.attempt;
}

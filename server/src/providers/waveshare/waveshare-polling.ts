import type { EntityBinding, Health, ObservedStatus, ProviderContext } from '../provider.ts';
import { jittered } from '../transport/backoff.ts';
import { retryInMs } from '../transport/pacing.ts';
import { readCoils } from './waveshare.wire.ts';
import type { Line } from './waveshare-line.ts';

export interface PollingOptions {
  readonly line: Line;
  readonly context: ProviderContext;
  readonly everyMs: number;
  readonly replyWithinMs: number;
}

/** A board says nothing by itself: its relays are read again and again, and what changed is reported. */
export interface Polling {
  bind(entities: readonly EntityBinding[]): void;
  /** What a command has just seen, or null when it saw nothing: then the next reading is news. */
  note(entityId: string, status: ObservedStatus | null): void;
  /** The way to the board is open again: no reason to wait for the end of the back-off. */
  wake(): void;
  health(): Health;
  stop(): void;
}

interface PollState {
  entities: readonly EntityBinding[];
  readonly known: Map<string, ObservedStatus>;
  failures: number;
  contacted: boolean;
  timer: NodeJS.Timeout | undefined;
  stopped: boolean;
}

/** Short, because over MQTT an unanswered question blocks the next until it has expired. */
const SEND_WITHIN_MS = 2_000;
const BACKOFF_CAP_MS = 20_000;
/** One lost reply is no loss of sight. */
const FAILURES_UNTIL_UNKNOWN = 2;
/** Without entities a reading only tells whether the board is there. */
const IDLE_FACTOR = 15;

export const channelOf = (entity: EntityBinding): number => Number(entity.metadata.channel_index);
export const statusOf = (coil: boolean): ObservedStatus => (coil ? 'open' : 'closed');

export function createPolling(options: PollingOptions): Polling {
  const state: PollState = {
    entities: [],
    known: new Map(),
    failures: 0,
    contacted: false,
    timer: undefined,
    stopped: false,
  };
  schedule(options, state, 0);
  return {
    bind(entities) {
      state.entities = entities;
      for (const id of state.known.keys()) {
        if (!entities.some(({ entityId }) => entityId === id)) state.known.delete(id);
      }
      schedule(options, state, 0);
    },
    note(entityId, status) {
      if (status === null) state.known.delete(entityId);
      else state.known.set(entityId, status);
      if (status !== null && state.failures > 0) schedule(options, state, 0);
    },
    wake: () => schedule(options, state, 0),
    health: () => (options.line.isUndisturbed() ? healthOf(state) : reducedAtBest(healthOf(state))),
    stop() {
      state.stopped = true;
      clearTimeout(state.timer);
    },
  };
}

function healthOf({ failures, contacted }: PollState): Health {
  if (failures >= FAILURES_UNTIL_UNKNOWN) return 'error';
  return contacted && failures === 0 ? 'ok' : 'reduced';
}

const reducedAtBest = (health: Health): Health => (health === 'ok' ? 'reduced' : health);

function schedule(options: PollingOptions, state: PollState, inMs: number): void {
  clearTimeout(state.timer);
  if (state.stopped) return;
  state.timer = setTimeout(() => void poll(options, state), inMs);
  state.timer.unref();
}

async function poll(options: PollingOptions, state: PollState): Promise<void> {
  const coils = await readBoard(options, state.entities);
  if (state.stopped) return;
  if (coils === null) noteFailure(options.context, state);
  else {
    state.failures = 0;
    state.contacted = true;
    for (const entity of state.entities) {
      const coil = coils[channelOf(entity)];
      if (coil !== undefined) report(options.context, state, entity.entityId, statusOf(coil));
    }
  }
  schedule(options, state, nextIn(options, state));
}

function nextIn({ everyMs }: PollingOptions, { failures, entities }: PollState): number {
  if (failures > 0) return retryInMs(failures, everyMs, Math.max(everyMs, BACKOFF_CAP_MS));
  return jittered(entities.length > 0 ? everyMs : everyMs * IDLE_FACTOR);
}

async function readBoard(
  { line, context, replyWithinMs }: PollingOptions,
  entities: readonly EntityBinding[],
): Promise<readonly boolean[] | null> {
  const count = Math.max(0, ...entities.map(channelOf)) + 1;
  const sendBeforeMs = context.clock.monotonicMs() + SEND_WITHIN_MS;
  const exchange = await line.exchange(readCoils(count), { urgent: false, sendBeforeMs, replyWithinMs });
  return exchange.kind === 'reply' && exchange.reply.kind === 'coils' ? exchange.reply.coils : null;
}

function noteFailure(context: ProviderContext, state: PollState): void {
  state.failures += 1;
  if (state.failures < FAILURES_UNTIL_UNKNOWN) return;
  for (const { entityId } of state.entities) report(context, state, entityId, 'unknown');
}

function report(context: ProviderContext, state: PollState, entityId: string, status: ObservedStatus): void {
  if (state.known.get(entityId) === status) return;
  state.known.set(entityId, status);
  context.onState(entityId, status);
}

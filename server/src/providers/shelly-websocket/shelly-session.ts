import type { Clock } from '../../kernel/clock.ts';
import type { ObservedStatus } from '../provider.ts';
import type { DialInSession, DialInSocket } from '../transport/dial-in.ts';
import {
  type Call,
  componentOf,
  deviceIdOf,
  deviceInfoCall,
  isMembers,
  type Members,
  modelOf,
  type Reply,
  readFrame,
  statusOf,
  tellsStatus,
  writeCall,
  writeNoHandler,
} from './shelly-websocket.wire.ts';

export type Answer = Reply | { readonly kind: 'not_sent' } | { readonly kind: 'lost' };

/** One device on one socket. */
export interface ShellySession extends DialInSession {
  call(call: Call, deadlineMs: number, signal?: AbortSignal): Promise<Answer>;
  /** What the device has said about a component so far. */
  status(component: string): ObservedStatus | null;
  model(): string | null;
  /** The names of the outputs it has told of. */
  outputs(): readonly string[];
  end(): void;
}

export interface ShellySessionDeps {
  readonly socket: DialInSocket;
  readonly clock: Clock;
  readonly identifyWithinMs: number;
  onIdentified(deviceId: string): void;
  /** Only after the device is identified; what it said before is in `status`. */
  onStatus(deviceId: string, component: string, status: ObservedStatus): void;
  onGone(deviceId: string): void;
}

interface State {
  readonly deps: ShellySessionDeps;
  deviceId: string | null;
  model: string | null;
  nextId: number;
  readonly pending: Map<number, (answer: Answer) => void>;
  /** Only outputs are kept, so a device can not make it grow. */
  readonly components: Map<string, Members>;
}

export function openShellySession(deps: ShellySessionDeps): ShellySession {
  const state: State = {
    deps,
    deviceId: null,
    model: null,
    nextId: 1,
    pending: new Map(),
    components: new Map(),
  };
  void identify(state);
  return {
    call: (call, deadlineMs, signal) => exchange(state, call, deadlineMs, signal),
    status: (name) => knownStatus(state, name),
    model: () => state.model,
    outputs: () => [...state.components.keys()],
    end: () => deps.socket.reset(),
    onText: (text) => take(state, text),
    onClose() {
      for (const settle of state.pending.values()) settle({ kind: 'lost' });
      if (state.deviceId !== null) deps.onGone(state.deviceId);
    },
  };
}

/** It names the device, and it is the first frame with a sender, without which the device reports no changes. */
async function identify(state: State): Promise<void> {
  const { socket, clock, identifyWithinMs, onIdentified } = state.deps;
  const answer = await exchange(state, deviceInfoCall, clock.monotonicMs() + identifyWithinMs);
  const deviceId = answer.kind === 'result' ? deviceIdOf(answer) : null;
  if (deviceId === null) {
    socket.close();
    return;
  }
  state.deviceId = deviceId;
  state.model = answer.kind === 'result' ? modelOf(answer) : null;
  onIdentified(deviceId);
}

function exchange(state: State, call: Call, deadlineMs: number, signal?: AbortSignal): Promise<Answer> {
  const { socket, clock } = state.deps;
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const id = state.nextId++;
  const text = writeCall(id, state.deviceId, call);
  const leftMs = deadlineMs - clock.monotonicMs();
  if (signal?.aborted || leftMs <= 0 || !socket.send(text)) return Promise.resolve({ kind: 'not_sent' });
  const giveUp = (): void => {
    settle({ kind: 'lost' });
    // The frame may wait in a buffer for a network that comes back. The device dials in again and tells its state.
    socket.reset();
  };
  const timer = setTimeout(giveUp, leftMs);
  signal?.addEventListener('abort', giveUp, { once: true });
  const settle = (answer: Answer): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
    state.pending.delete(id);
    resolve(answer);
  };
  state.pending.set(id, settle);
  return promise;
}

function take(state: State, text: string): void {
  const frame = readFrame(text);
  if (frame === null) return;
  if (frame.kind === 'call') state.deps.socket.send(writeNoHandler(frame.id, frame.src));
  else if (frame.kind === 'reply') state.pending.get(frame.id)?.(frame.reply);
  else if (state.deviceId === null || frame.src.toLowerCase() === state.deviceId) {
    if (frame.full) state.components.clear();
    for (const [name, delta] of Object.entries(frame.params)) note(state, name, delta);
  }
}

/** A report is a difference to what was known; a component that is gone arrives as null. */
function note(state: State, name: string, delta: unknown): void {
  const component = componentOf(name);
  if (component === null || (delta !== null && !isMembers(delta))) return;
  if (delta === null) state.components.delete(name);
  else state.components.set(name, { ...state.components.get(name), ...outputMembers(delta) });
  if (state.deviceId === null || (delta !== null && !tellsStatus(delta))) return;
  state.deps.onStatus(state.deviceId, name, knownStatus(state, name) ?? 'unknown');
}

function outputMembers({ output, state, current_pos }: Members): Members {
  const known = Object.entries({ output, state, current_pos });
  return Object.fromEntries(known.filter(([, value]) => value !== undefined));
}

function knownStatus({ components }: State, name: string): ObservedStatus | null {
  const component = componentOf(name);
  const members = components.get(name);
  return component === null || members === undefined ? null : statusOf(component, members);
}

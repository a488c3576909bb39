import type { Secret } from '../../kernel/secret.ts';
import { type Retry, retryLater } from '../transport/pacing.ts';
import type { HubState } from './homeassistant.wire.ts';
import { type HubCommand, type HubSession, type SessionTimes, startHubSession } from './hub-session.ts';

export interface HubSocketTimes extends SessionTimes {
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** After a refused token: the hub bans an address that tries often. */
  readonly refusedRetryMs: number;
}

export interface HubListener {
  onState(entityId: string, state: HubState | null): void;
  /** All states are known, for the first time or again. */
  onLive(): void;
  /** There is no connection, or none any more. */
  onLost?(): void;
}

/** The hub's states as they are pushed, and the way to call a service; dials again by itself. */
export interface HubSocket {
  readonly phase: () => 'connecting' | 'live' | 'lost' | 'refused';
  /** Undefined while the states are not known; null for an entity the hub does not have. */
  state(entityId: string): HubState | null | undefined;
  /** All there are; null while they are not known. */
  states(): readonly HubState[] | null;
  /** Null when there is no live connection: then nothing was sent. */
  command(message: Record<string, unknown>): HubCommand | null;
  /** Returns the way to stop it. */
  listen(listener: HubListener): () => void;
  close(): Promise<void>;
}

export function openHubSocket(url: string, token: Secret, times: HubSocketTimes): HubSocket {
  const listeners = new Set<HubListener>();
  const closed = Promise.withResolvers<void>();
  let states: Map<string, HubState> | null = null;
  let session: HubSession | null = null;
  let phase: ReturnType<HubSocket['phase']> = 'connecting';
  let retry: Retry | undefined;
  let failures = 0;
  let closing = false;

  function dial(): void {
    session = startHubSession(url, token, times, {
      onLive(all) {
        states = new Map(all.map((state) => [state.entityId, state]));
        phase = 'live';
        failures = 0;
        for (const listener of listeners) listener.onLive();
      },
      onState(entityId, state) {
        if (state === null) states?.delete(entityId);
        else states?.set(entityId, state);
        if (states !== null) for (const listener of listeners) listener.onState(entityId, state);
      },
      onEnd(why) {
        [session, states, phase] = [null, null, why];
        if (closing) return closed.resolve();
        if (why === 'lost') for (const listener of listeners) listener.onLost?.();
        failures += 1;
        const first = why === 'refused' ? times.refusedRetryMs : times.retryMs;
        retry = retryLater(failures, first, Math.max(first, times.maxRetryMs), dial);
      },
    });
  }

  if (URL.canParse(url)) dial();
  else phase = 'lost';
  return {
    phase: () => phase,
    state: (entityId) => (states === null ? undefined : (states.get(entityId) ?? null)),
    states: () => (states === null ? null : [...states.values()]),
    command: (message) => (states === null ? null : (session?.command(message) ?? null)),
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      closing = true;
      retry?.cancel();
      if (session === null) closed.resolve();
      else session.end();
      await closed.promise;
    },
  };
}

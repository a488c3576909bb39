import type { MqttClient } from 'mqtt';

/** Retained messages follow the SUBACK at once with some brokers, a little later with others. */
const LISTEN_MS = 250;
const REPEAT_MS = 15 * 60_000;

/**
 * Looks for commands that a broker keeps: it would hand them to the device at every reconnect and move a door nobody
 * asked for. It listens for a moment only, because a standing subscription would make the broker count this client as
 * a receiver and hide "no matching subscribers" (0x10).
 */
export interface RetainedGuard {
  watch(filters: ReadonlySet<string>): void;
  attach(client: MqttClient | null): void;
  /** True when the message was on a watched topic, which no one else needs to hear of. */
  take(topic: string, retained: boolean): boolean;
  /** Resolves when no listening is under way: until then an acknowledgement says nothing about receivers. */
  settled(): Promise<void>;
  found(): ReadonlySet<string>;
}

interface GuardState {
  filters: ReadonlySet<string>;
  client: MqttClient | null;
  found: Set<string>;
  listening: Promise<void>;
  timer: NodeJS.Timeout | undefined;
}

export function createRetainedGuard(onFound: (topic: string) => void): RetainedGuard {
  const state: GuardState = {
    filters: new Set(),
    client: null,
    found: new Set(),
    listening: Promise.resolve(),
    timer: undefined,
  };
  return {
    watch(filters) {
      const isNew = [...filters].some((filter) => !state.filters.has(filter));
      state.filters = filters;
      if (isNew) listenAgain(state);
    },
    attach(client) {
      state.client = client;
      listenAgain(state);
    },
    take(topic, retained) {
      if (!filtersFor(topic).some((filter) => state.filters.has(filter))) return false;
      if (retained && !state.found.has(topic)) {
        state.found.add(topic);
        onFound(topic);
      }
      return true;
    },
    settled: () => state.listening,
    found: () => state.found,
  };
}

function listenAgain(state: GuardState): void {
  clearTimeout(state.timer);
  const { client } = state;
  if (client === null) {
    state.listening = Promise.resolve();
    return;
  }
  state.listening = state.listening.then(() => listen(state, client));
  state.timer = setTimeout(() => listenAgain(state), REPEAT_MS);
  state.timer.unref();
}

async function listen(state: GuardState, client: MqttClient): Promise<void> {
  const filters = [...state.filters];
  if (filters.length === 0 || state.client !== client) return;
  state.found.clear();
  const left = Promise.withResolvers<void>();
  client.once('close', left.resolve);
  // A refused subscription leaves nothing to hear; a lost connection starts a new round with the next one.
  const ignore = (): void => undefined;
  const heard = async (): Promise<void> => {
    await client.subscribeAsync(filters, { qos: 0, rap: true }).catch(ignore);
    await new Promise((resolve) => setTimeout(resolve, LISTEN_MS).unref());
    await client.unsubscribeAsync(filters).catch(ignore);
  };
  await Promise.race([heard(), left.promise]);
  client.off('close', left.resolve);
}

/** Every filter without `+` that a topic matches: itself and each ancestor with `/#`. */
export function filtersFor(topic: string): string[] {
  const levels = topic.split('/');
  return [topic, ...levels.map((_level, index) => `${levels.slice(0, index + 1).join('/')}/#`)];
}

import { setTimeout as delay } from 'node:timers/promises';
import { done } from '../ops.ts';
import type { DiscoveredDevice, OpLimits, OpResult } from '../provider.ts';
import type { MqttMessage } from '../transport/mqtt-link.ts';
import { DISCOVERY_FILTER, isDiscoveryTopic, readDiscovery } from './tasmota.wire.ts';

export interface TasmotaDiscovery {
  /** The filters to subscribe to now, beside the others. */
  filters(): readonly string[];
  /** True when the message is about discovery. */
  take(message: MqttMessage): boolean;
  run(limits: OpLimits): Promise<OpResult<readonly DiscoveredDevice[]>>;
}

export interface TasmotaDiscoveryDeps {
  readonly connected: () => boolean;
  /** Subscribes to what `filters` says. */
  readonly resubscribe: () => void;
}

/** The broker sends what it keeps right after the subscription; so long after the last message there is no more. */
const QUIET_MS = 700;
const MAX_DEVICES = 1000;

/**
 * Devices keep a description of themselves at the broker. It is read only when somebody asks: a broker that forbids
 * the topic would otherwise reduce the health for nothing.
 */
export function createTasmotaDiscovery({ connected, resubscribe }: TasmotaDiscoveryDeps): TasmotaDiscovery {
  let found: Map<string, DiscoveredDevice> | null = null;
  let heard = 0;
  let running: Promise<DiscoveredDevice[]> | null = null;

  async function listen(signal: AbortSignal): Promise<DiscoveredDevice[]> {
    const devices = new Map<string, DiscoveredDevice>();
    found = devices;
    resubscribe();
    for (let before = -1; before !== heard && !signal.aborted; ) {
      before = heard;
      await delay(QUIET_MS, undefined, { ref: false });
    }
    found = null;
    running = null;
    resubscribe();
    return [...devices.values()];
  }
  return {
    filters: () => (found === null ? [] : [DISCOVERY_FILTER]),
    take({ topic, payload }) {
      if (!isDiscoveryTopic(topic)) return false;
      heard += 1;
      const device = readDiscovery(payload.toString());
      if (device !== null && found !== null && found.size < MAX_DEVICES) found.set(topic, device);
      return true;
    },
    async run({ signal }) {
      if (!connected()) return { kind: 'not_sent', reason: 'there is no connection to the broker' };
      running ??= listen(signal);
      return done(await running);
    },
  };
}

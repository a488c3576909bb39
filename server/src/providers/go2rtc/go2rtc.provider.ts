import type { Connection, Health, Link, ProviderContext, ProviderDefinition } from '../provider.ts';
import { httpOnce } from '../transport/http-once.ts';
import { type PollingTimes, startPolling } from '../transport/polling.ts';
import { type Go2rtcConfig, go2rtcManifest } from './go2rtc.manifest.ts';
import { healthFrom, STREAMS_PATH } from './go2rtc.wire.ts';

const TIMES: PollingTimes = { everyMs: 30_000, retryMs: 2000, maxRetryMs: 30_000 };
const TIMEOUT_MS = 5000;

export const go2rtc = createGo2rtc(TIMES);

export function createGo2rtc(times: PollingTimes): ProviderDefinition {
  return { manifest: go2rtcManifest, connect: (link, context) => connect(link, context, times) };
}

function connect({ config }: Link, { clock }: ProviderContext, times: PollingTimes): Connection {
  const base = (config as Go2rtcConfig).base_url.replace(/\/*$/, '/');
  let health: Health = 'reduced';
  const polling = startPolling(clock, times, async (signal) => {
    const deadlineMs = clock.monotonicMs() + TIMEOUT_MS;
    const outcome = await httpOnce({
      method: 'GET',
      url: `${base}${STREAMS_PATH}`,
      deadlineMs,
      clock,
      signal,
    });
    if (!signal.aborted) health = healthFrom(outcome);
    return health === 'ok';
  });
  return { actions: {}, health: () => health, bind: () => {}, close: () => polling.close() };
}

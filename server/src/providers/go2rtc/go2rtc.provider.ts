import { mapDone, tested, testedFailure } from '../ops.ts';
import type { Connection, Health, Link, OpLimits, ProviderContext, ProviderDefinition } from '../provider.ts';
import { type HttpOutcome, httpOnce } from '../transport/http-once.ts';
import { type PollingTimes, startPolling } from '../transport/polling.ts';
import { type Go2rtcConfig, go2rtcManifest } from './go2rtc.manifest.ts';
import { healthFrom, readStreams, STREAMS_PATH } from './go2rtc.wire.ts';

const TIMES: PollingTimes = { everyMs: 30_000, retryMs: 2000, maxRetryMs: 30_000 };
const TIMEOUT_MS = 5000;

export const go2rtc = createGo2rtc(TIMES);

export function createGo2rtc(times: PollingTimes): ProviderDefinition {
  return { manifest: go2rtcManifest, connect: (link, context) => connect(link, context, times) };
}

function connect({ config }: Link, { clock }: ProviderContext, times: PollingTimes): Connection {
  const url = `${(config as Go2rtcConfig).base_url.replace(/\/*$/, '/')}${STREAMS_PATH}`;
  const ask = ({ deadlineMs, signal }: OpLimits): Promise<HttpOutcome> =>
    httpOnce({ method: 'GET', url, deadlineMs, clock, signal });
  let health: Health = 'reduced';
  const polling = startPolling(clock, times, async (signal) => {
    const outcome = await ask({ deadlineMs: clock.monotonicMs() + TIMEOUT_MS, signal });
    if (!signal.aborted) health = healthFrom(outcome);
    return health === 'ok';
  });
  return {
    actions: {},
    ops: {
      'connection.test': async (_input, limits) => test(await ask(limits)),
      'streams.list': async (_input, limits) => readStreams(await ask(limits)),
    },
    discover: async (limits) =>
      mapDone(readStreams(await ask(limits)), (streams) =>
        streams.map(({ name }) => ({ externalId: name, name })),
      ),
    health: () => health,
    bind: () => {},
    close: () => polling.close(),
  };
}

function test(outcome: HttpOutcome) {
  if (outcome.kind !== 'response') return testedFailure(outcome);
  const health = healthFrom(outcome);
  return health === 'ok' ? tested('ok', 'the relay lists its streams') : tested(health, told(outcome.status));
}

const told = (status: number): string =>
  status === 401 ? 'the relay asks for a login' : `the relay answered ${status} and no list of streams`;

import { Secret } from '../../kernel/secret.ts';
import type {
  Connection,
  EntityBinding,
  Health,
  Link,
  ProviderContext,
  ProviderDefinition,
} from '../provider.ts';
import { type HttpOutcome, httpOnce } from '../transport/http-once.ts';
import { type HomeassistantConfig, homeassistantManifest } from './homeassistant.manifest.ts';
import { type HubState, isMomentary, parseHubEntity, statusOf } from './homeassistant.wire.ts';
import { commandHub, type HubDeps } from './hub-command.ts';
import { createHubOps, discoverHub } from './hub-ops.ts';
import { type HubSocket, type HubSocketTimes, openHubSocket } from './hub-socket.ts';

const TIMES: HubSocketTimes = {
  pingEveryMs: 30_000,
  answerWithinMs: 10_000,
  retryMs: 1000,
  maxRetryMs: 15_000,
  refusedRetryMs: 300_000,
};

export const homeassistant = createHomeassistant(TIMES);

export function createHomeassistant(times: HubSocketTimes): ProviderDefinition {
  return { manifest: homeassistantManifest, connect: (link, context) => connect(link, context, times) };
}

function connect({ config, secrets }: Link, context: ProviderContext, times: HubSocketTimes): Connection {
  const { clock } = context;
  const token = secrets.token ?? new Secret('');
  const base = (config as HomeassistantConfig).base_url.replace(/\/*$/, '/');
  const socket = openHubSocket(`${base.replace(/^http/, 'ws')}api/websocket`, token, times);
  const http = createHubHttp(base, token, context);
  const deps: HubDeps = { clock, socket, get: http.get, post: http.post };
  const closing = new AbortController();
  // Over a live websocket no HTTP is spoken: what is known about it grows old. Without one it is all there is.
  socket.listen({
    onState: () => {},
    onLive: http.forget,
    onLost: () => void http.get('api/', clock.monotonicMs() + times.answerWithinMs, closing.signal),
  });
  const reporter = createReporter(socket, context.onState);
  return {
    actions: {
      open: (command) => commandHub(deps, 'open', command),
      close: (command) => commandHub(deps, 'close', command),
      toggle: (command) => commandHub(deps, 'toggle', command),
    },
    ops: createHubOps(deps, () => healthOf(socket, http.works())),
    discover: (limits) => discoverHub(deps, limits),
    health: () => healthOf(socket, http.works()),
    bind: reporter.bind,
    async close() {
      reporter.stop();
      closing.abort();
      await socket.close();
    },
  };
}

function createHubHttp(base: string, token: Secret, { clock }: ProviderContext) {
  let works: boolean | null = null;
  async function send(
    method: 'GET' | 'POST',
    path: string,
    body: string | undefined,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<HttpOutcome> {
    const headers = { authorization: `Bearer ${token.reveal()}`, 'content-type': 'application/json' };
    const content = body === undefined ? {} : { body };
    const outcome = await httpOnce({
      method,
      url: `${base}${path}`,
      headers,
      ...content,
      deadlineMs,
      clock,
      signal,
    });
    works = outcome.kind === 'response' && outcome.status < 500 && ![401, 403].includes(outcome.status);
    return outcome;
  }
  const get: HubDeps['get'] = (path, deadlineMs, signal) => send('GET', path, undefined, deadlineMs, signal);
  const post: HubDeps['post'] = (path, body, deadlineMs, signal) =>
    send('POST', path, JSON.stringify(body), deadlineMs, signal);
  return {
    get,
    post,
    works: () => works,
    forget: () => {
      works = null;
    },
  };
}

/** Without the websocket commands still work, but nothing is reported. */
function healthOf(socket: HubSocket, httpWorks: boolean | null): Health {
  const phase = socket.phase();
  if (phase === 'live') return 'ok';
  if (phase === 'refused') return 'error';
  if (phase === 'connecting') return httpWorks === false ? 'error' : 'reduced';
  return httpWorks === true ? 'reduced' : 'error';
}

function createReporter(socket: HubSocket, onState: ProviderContext['onState']) {
  let bound = new Map<string, string[]>();
  const report = (hubId: string, state: HubState | null): void => {
    const status = state === null ? 'unknown' : statusOf(state.state);
    for (const entityId of bound.get(hubId) ?? []) onState(entityId, status);
  };
  const reportAll = (): void => {
    for (const hubId of bound.keys()) {
      const state = socket.state(hubId);
      if (state !== undefined) report(hubId, state);
    }
  };
  return {
    stop: socket.listen({ onState: report, onLive: reportAll }),
    bind(entities: readonly EntityBinding[]): void {
      bound = byHubId(entities);
      reportAll();
    },
  };
}

function byHubId(entities: readonly EntityBinding[]): Map<string, string[]> {
  const bound = new Map<string, string[]>();
  for (const { entityId, externalId } of entities) {
    const hub = parseHubEntity(externalId);
    if (hub === null || isMomentary(hub.domain)) continue;
    bound.set(hub.id, [...(bound.get(hub.id) ?? []), entityId]);
  }
  return bound;
}

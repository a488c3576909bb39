import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Database } from '../db/database.ts';
import { listenTo, type Notifications } from '../db/notifications.ts';
import type { Logger } from '../kernel/logger.ts';
import { notify, type Owner } from './cluster.store.ts';
import { type BusHandlers, type BusReply, lost, type NodeBus, notSent } from './node-bus.ts';
import { moved } from './node-requests.ts';
import type { Place, Seal, Signing } from './signing.ts';
import { parseWakeUp } from './wake-ups.ts';

export const dispatchPath = '/internal/dispatch';
const channel = 'lintel_cluster';
const idleSocketMs = 30_000;

export interface HttpBusDeps {
  readonly nodeId: string;
  readonly db: Database;
  readonly databaseUrl: string;
  readonly logger: Logger;
  readonly signing: Signing;
}

/** What arrived at `dispatchPath`, as the HTTP edge passes it on. */
export interface NodeRequest {
  readonly body: string;
  readonly seal: Seal;
}

export interface SignedAnswer {
  readonly body: string;
  readonly signature: string;
}

export interface HttpBus extends NodeBus {
  /** Null for whoever is not a node of this installation. */
  receive(request: NodeRequest): Promise<SignedAnswer | null>;
}

/** Commands by direct HTTP between the nodes, wake-ups by NOTIFY: nothing to install beside the database. */
export function createHttpBus(deps: HttpBusDeps): HttpBus {
  const agents = {
    http: new HttpAgent({ keepAlive: true, timeout: idleSocketMs }),
    https: new HttpsAgent({ keepAlive: true, timeout: idleSocketMs }),
  };
  let handlers: BusHandlers | null = null;
  let listening: Notifications | null = null;
  return {
    async start(given) {
      handlers = given;
      listening = listen(deps, given);
    },
    request: (owner, body, withinMs) => ask(deps.signing, agents, owner, body, withinMs),
    receive: (request) => receive(deps, handlers, request),
    wake: (wakeUp) => notify(deps.db.direct, channel, JSON.stringify(wakeUp)),
    async close() {
      await listening?.close();
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

function listen({ databaseUrl, logger }: HttpBusDeps, { onWakeUp }: BusHandlers): Notifications {
  return listenTo({
    url: databaseUrl,
    channel,
    onPayload: (payload) => {
      const wakeUp = parseWakeUp(payload);
      if (wakeUp !== null) onWakeUp(wakeUp);
    },
    onReconnect: () => onWakeUp({ orgIds: [], leases: true }),
    onError: (error) =>
      logger.warn({ err: error }, 'the wake-ups of other nodes do not arrive; it is tried again'),
  });
}

const placeOf = (nodeId: string): Place => ({ nodeId, method: 'POST', path: dispatchPath });

async function receive(
  { nodeId, signing }: HttpBusDeps,
  handlers: BusHandlers | null,
  { body, seal }: NodeRequest,
): Promise<SignedAnswer | null> {
  if (!signing.admits(placeOf(nodeId), body, seal)) return null;
  const text = handlers === null ? JSON.stringify(moved) : await handlers.onRequest(body);
  return { body: text, signature: signing.sealAnswer(seal.nonce, text) };
}

type Agents = { readonly http: HttpAgent; readonly https: HttpsAgent };

async function ask(
  signing: Signing,
  agents: Agents,
  owner: Owner,
  body: string,
  withinMs: number,
): Promise<BusReply> {
  const seal = signing.seal(placeOf(owner.nodeId), body);
  const reply = await post(agents, owner.address, body, seal, withinMs);
  if (reply === 'not_sent') return notSent;
  if (reply === 'lost' || !signing.isAnswer(seal.nonce, reply.text, reply.signature)) return lost;
  return { kind: 'answered', body: reply.text };
}

type Reply = 'not_sent' | 'lost' | { readonly text: string; readonly signature: string };

/** INVARIANT: `not_sent` only while the connection was never made; once it is, a byte may have left. */
function post(agents: Agents, address: string, body: string, seal: Seal, withinMs: number): Promise<Reply> {
  const url = new URL(dispatchPath, address);
  const isTls = url.protocol === 'https:';
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-node-time': seal.time,
    'x-node-nonce': seal.nonce,
    'x-node-signature': seal.signature,
  };
  return new Promise((resolve) => {
    let connected = false;
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(withinMs)));
    const options = { method: 'POST', headers, signal, agent: isTls ? agents.https : agents.http };
    const request = (isTls ? httpsRequest : httpRequest)(url, options, (response) => {
      void replyOf(response).then(resolve);
    });
    request.on('socket', (socket) => {
      if (!socket.connecting) connected = true;
      else socket.once('connect', () => (connected = true));
    });
    request.on('error', () => resolve(connected ? 'lost' : 'not_sent'));
    request.end(body);
  });
}

async function replyOf(response: IncomingMessage): Promise<Reply> {
  try {
    const signature = response.headers['x-node-signature'];
    return { text: await text(response), signature: typeof signature === 'string' ? signature : '' };
  } catch {
    return 'lost';
  }
}

import {
  connect,
  headers as createHeaders,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  NoRespondersError,
  RequestError,
} from '@nats-io/transport-node';
import type { Logger } from '../kernel/logger.ts';
import { hmacSha256, type Secret } from '../kernel/secret.ts';
import { type BusHandlers, type BusReply, lost, type NodeBus, notSent, type WakeUp } from './node-bus.ts';
import type { Place, Seal, Signing } from './signing.ts';
import { parseWakeUp } from './wake-ups.ts';

export interface NatsBusDeps {
  readonly nodeId: string;
  readonly servers: string;
  readonly logger: Logger;
  readonly signing: Signing;
  readonly key: Secret;
}

interface Line {
  readonly connection: NatsConnection;
  readonly isUp: () => boolean;
}

/** For large fleets: commands and wake-ups over NATS. The leases stay in the database. */
export function createNatsBus(deps: NatsBusDeps): NodeBus {
  // Several installations may share one NATS.
  const prefix = `lintel.${hmacSha256(deps.key, 'subject').toString('hex').slice(0, 16)}`;
  const nodeSubject = (nodeId: string) => `${prefix}.node.${nodeId}`;
  const wakeSubject = `${prefix}.wake`;
  let line: Line | null = null;
  let closed = false;
  const open = async (handlers: BusHandlers): Promise<void> => {
    // A NATS that is not there yet must not keep the service from starting.
    const options = { waitOnFirstConnect: true, maxReconnectAttempts: -1, ignoreClusterUpdates: true };
    const connection = await connect({ servers: deps.servers, ...options });
    if (closed) return connection.close();
    line = { connection, isUp: watch(connection) };
    connection.subscribe(nodeSubject(deps.nodeId), {
      callback: (error, message) => void (error ?? answer(deps, handlers, message)),
    });
    connection.subscribe(wakeSubject, {
      callback: (error, message) => void (error ?? takeWakeUp(deps, handlers, message)),
    });
    handlers.onWakeUp({ orgIds: [], leases: true });
  };
  return {
    async start(handlers) {
      open(handlers).catch((error: unknown) => deps.logger.error({ err: error }, 'NATS can not be used'));
    },
    request: async (owner, body, withinMs) =>
      line?.isUp()
        ? ask(deps, line.connection, nodeSubject(owner.nodeId), owner.nodeId, body, withinMs)
        : notSent,
    wake: async (wakeUp) => {
      if (line?.isUp()) publishWakeUp(deps, line.connection, wakeSubject, wakeUp);
    },
    async close() {
      closed = true;
      await line?.connection.close();
    },
  };
}

/** While it reconnects the client keeps what is published and sends it later: a command must not be given to it then. */
function watch(connection: NatsConnection): () => boolean {
  let up = true;
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' || type === 'close') up = false;
      if (type === 'reconnect') up = true;
    }
  })();
  return () => up && !connection.isClosed();
}

const everyone = 'all';
const placeOf = (nodeId: string, path: string): Place => ({ nodeId, method: 'NATS', path });

function sealed(signing: Signing, place: Place, body: string): { seal: Seal; headers: MsgHdrs } {
  const seal = signing.seal(place, body);
  const headers = createHeaders();
  headers.set('time', seal.time);
  headers.set('nonce', seal.nonce);
  headers.set('signature', seal.signature);
  return { seal, headers };
}

function sealOf({ headers }: Msg): Seal {
  const read = (name: string) => headers?.get(name) ?? '';
  return { time: read('time'), nonce: read('nonce'), signature: read('signature') };
}

async function ask(
  { signing, logger }: NatsBusDeps,
  connection: NatsConnection,
  subject: string,
  nodeId: string,
  body: string,
  withinMs: number,
): Promise<BusReply> {
  const { seal, headers } = sealed(signing, placeOf(nodeId, 'command'), body);
  try {
    const message = await connection.request(subject, body, { timeout: Math.max(1, withinMs), headers });
    const text = message.string();
    if (!signing.isAnswer(seal.nonce, text, message.headers?.get('signature') ?? '')) return lost;
    return { kind: 'answered', body: text };
  } catch (error) {
    // The server says so itself: nobody got it.
    if (isNoResponders(error)) return notSent;
    logger.warn({ err: error }, 'another node did not answer');
    return lost;
  }
}

function isNoResponders(error: unknown): boolean {
  return error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders());
}

async function answer({ nodeId, signing }: NatsBusDeps, handlers: BusHandlers, message: Msg): Promise<void> {
  const body = message.string();
  const seal = sealOf(message);
  if (!signing.admits(placeOf(nodeId, 'command'), body, seal)) return;
  const text = await handlers.onRequest(body);
  const headers = createHeaders();
  headers.set('signature', signing.sealAnswer(seal.nonce, text));
  message.respond(text, { headers });
}

function publishWakeUp(
  { signing }: NatsBusDeps,
  connection: NatsConnection,
  subject: string,
  wakeUp: WakeUp,
): void {
  const body = JSON.stringify(wakeUp);
  const { headers } = sealed(signing, placeOf(everyone, 'wake'), body);
  connection.publish(subject, body, { headers });
}

function takeWakeUp({ signing }: NatsBusDeps, handlers: BusHandlers, message: Msg): void {
  const body = message.string();
  const wakeUp = parseWakeUp(body);
  if (wakeUp !== null && signing.admits(placeOf(everyone, 'wake'), body, sealOf(message)))
    handlers.onWakeUp(wakeUp);
}

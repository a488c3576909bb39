import { connect as dial, type Socket } from 'node:net';
import type {
  Command,
  Connection,
  Delivery,
  Health,
  Link,
  ProviderContext,
  ProviderDefinition,
} from '../provider.ts';
import { deviceLookup } from '../transport/device-address.ts';
import { type BlueprintConfig, blueprintManifest } from './blueprint.manifest.ts';
import { decodeReply, encodeCommand, toDelivery } from './blueprint.wire.ts';

export const blueprint: ProviderDefinition = { manifest: blueprintManifest, connect };

function connect(link: Link, context: ProviderContext): Connection {
  const config = link.config as BlueprintConfig;
  let health: Health = 'ok';
  const act = (verb: 'open' | 'close') => async (command: Command) => {
    const delivery = await send(config, context, verb, command);
    health = delivery.kind === 'not_sent' ? 'error' : 'ok';
    return delivery;
  };
  return {
    actions: { open: act('open'), close: act('close') },
    health: () => health,
    bind: () => undefined,
    close: async () => undefined,
  };
}

/** One connection for a command. What fails before the line is written is `not_sent`; after it, `unknown`. */
async function send(
  { host, port }: BlueprintConfig,
  { clock }: ProviderContext,
  verb: 'open' | 'close',
  { entity, deadlineMs, signal }: Command,
): Promise<Delivery> {
  const socket = await dialed(host, port, signal);
  if (socket === null) return { kind: 'not_sent', reason: 'the relay can not be reached' };
  try {
    if (clock.monotonicMs() >= deadlineMs) return { kind: 'not_sent', reason: 'the deadline has passed' };
    socket.write(encodeCommand(verb, entity.metadata.channel_index ?? '0'));
    for await (const chunk of socket) return toDelivery(decodeReply(String(chunk)));
    return { kind: 'unknown', reason: 'the relay hung up without an answer' };
  } catch {
    return { kind: 'unknown', reason: 'the connection broke before the answer' };
  } finally {
    socket.destroy();
  }
}

function dialed(host: string, port: number, signal: AbortSignal): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = dial({ host, port, noDelay: true, signal, lookup: deviceLookup }, () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', () => resolve(null));
  });
}

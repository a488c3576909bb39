import { once } from 'node:events';
import type { Socket } from 'node:net';
import type {
  Command,
  Connection,
  Delivery,
  Health,
  Link,
  ProviderContext,
  ProviderDefinition,
} from '../provider.ts';
import { openResettingSocket } from '../transport/resetting-socket.ts';
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

/**
 * One connection for a command. What fails before the line is written is `not_sent`; after it, `unknown`.
 * INVARIANT: a door never opens late. Whoever gives up resets the connection: after a mere close the kernel would go on
 * sending, and a network that comes back would deliver the line long after the deadline.
 */
async function send(
  { host, port }: BlueprintConfig,
  { clock }: ProviderContext,
  verb: 'open' | 'close',
  { entity, deadlineMs, signal }: Command,
): Promise<Delivery> {
  const leftMs = Math.max(0, Math.floor(deadlineMs - clock.monotonicMs()));
  const over = AbortSignal.any([signal, AbortSignal.timeout(leftMs)]);
  const { stream, reset } = openResettingSocket({ host, port, tls: false });
  over.addEventListener('abort', reset);
  try {
    if (!(await connects(stream, over))) return { kind: 'not_sent', reason: 'the relay can not be reached' };
    if (clock.monotonicMs() >= deadlineMs) return { kind: 'not_sent', reason: 'the deadline has passed' };
    stream.write(encodeCommand(verb, entity.metadata.channel_index ?? '0'));
    for await (const chunk of stream) return toDelivery(decodeReply(String(chunk)));
    return { kind: 'unknown', reason: 'the relay hung up without an answer' };
  } catch {
    return { kind: 'unknown', reason: 'the connection broke before the answer' };
  } finally {
    over.removeEventListener('abort', reset);
    reset();
  }
}

async function connects(stream: Socket, signal: AbortSignal): Promise<boolean> {
  // An error that nobody listens to would end the process.
  stream.on('error', () => undefined);
  return once(stream, 'connect', { signal }).then(
    () => true,
    () => false,
  );
}

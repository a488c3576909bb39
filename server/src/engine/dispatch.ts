import { createKeyedMutex } from '../kernel/async-queue.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Command, Connection, Delivery, Verb } from '../providers/provider.ts';

export interface Dispatch {
  /**
   * Sends once, one command at a time per device, never after the deadline, and never when the connection may not be
   * used any more (`usableUntilMs`, monotonic; looked at last): then the answer is `notOurs`. It does not throw.
   */
  send(
    connection: Connection,
    verb: Verb,
    command: Omit<Command, 'signal'>,
    usableUntilMs?: () => number,
  ): Promise<Delivery>;
}

/** By identity: nothing was sent, and another node may. */
export const notOurs: Delivery = { kind: 'not_sent', reason: 'the connection belongs to another node' };

export function createDispatch({ clock, logger }: { clock: Clock; logger: Logger }): Dispatch {
  const perDevice = createKeyedMutex();
  return {
    send: (connection, verb, command, usableUntilMs = () => Number.POSITIVE_INFINITY) =>
      perDevice.run(command.entity.deviceId, async () => {
        const now = clock.monotonicMs();
        if (command.deadlineMs <= now)
          return { kind: 'not_sent', reason: 'the device was busy until the deadline' };
        const action = connection.actions[verb];
        if (action === undefined)
          return { kind: 'not_sent', reason: 'the provider does not offer this action' };
        // The provider looks at the deadline once more, right before the first byte: so it looks at the lease as well.
        const deadlineMs = Math.min(command.deadlineMs, usableUntilMs());
        if (deadlineMs <= now) return notOurs;
        return withDeadline(deadlineMs - now, logger, (signal) => action({ ...command, deadlineMs, signal }));
      }),
  };
}

/** A provider that does not answer in time, or fails in a way it did not foresee, may have sent: unknown. */
async function withDeadline(
  ms: number,
  logger: Logger,
  work: (signal: AbortSignal) => Promise<Delivery>,
): Promise<Delivery> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Delivery>((resolve) => {
    timer = setTimeout(() => {
      controller.abort();
      resolve({ kind: 'unknown', reason: 'the device did not answer in time' });
    }, ms);
  });
  try {
    return await Promise.race([work(controller.signal), late]);
  } catch (error) {
    logger.error({ err: error }, 'a provider threw instead of answering');
    return { kind: 'unknown', reason: 'the provider failed' };
  } finally {
    clearTimeout(timer);
  }
}

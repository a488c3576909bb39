import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../kernel/clock.ts';
import { createLogger } from '../kernel/logger.ts';
import type { Command, Connection, Delivery } from '../providers/provider.ts';
import { createDispatch } from './dispatch.ts';

const logger = createLogger({ level: 'silent' });
const delivered: Delivery = { kind: 'delivered', observed: null };

function providerWith(open: (command: Command) => Promise<Delivery>): Connection {
  return { actions: { open }, health: () => 'ok', bind: () => undefined, close: async () => undefined };
}

function command(deviceId: string, deadlineInMs = 5_000): Omit<Command, 'signal'> {
  const entity = {
    entityId: 'e',
    entityType: 'door',
    externalId: null,
    metadata: {},
    deviceId,
    deviceExternalId: null,
    deviceMetadata: {},
  };
  return {
    intentId: 'i',
    entity,
    pulseSeconds: null,
    deadlineMs: systemClock.monotonicMs() + deadlineInMs,
  };
}

describe('dispatch', () => {
  it('sends one command at a time to a device, and does not hold up another', async () => {
    const running = new Map<string, number>();
    let most = 0;
    let together = 0;
    const provider = providerWith(async ({ entity: { deviceId } }) => {
      running.set(deviceId, (running.get(deviceId) ?? 0) + 1);
      most = Math.max(most, running.get(deviceId) ?? 0);
      together = Math.max(
        together,
        [...running.values()].reduce((sum, count) => sum + count, 0),
      );
      await delay(5);
      running.set(deviceId, (running.get(deviceId) ?? 0) - 1);
      return delivered;
    });
    const dispatch = createDispatch({ clock: systemClock, logger });
    await Promise.all(
      ['a', 'a', 'a', 'b', 'b', 'b'].map((id) => dispatch.send(provider, 'open', command(id))),
    );
    expect([most, together]).toEqual([1, 2]);
  });

  it('never sends after the deadline, even when the wait for the device used it up', async () => {
    const sent: string[] = [];
    const provider = providerWith(async ({ intentId }) => {
      sent.push(intentId);
      await delay(60);
      return delivered;
    });
    const dispatch = createDispatch({ clock: systemClock, logger });
    const [first, second] = await Promise.all([
      dispatch.send(provider, 'open', { ...command('a'), intentId: 'first' }),
      dispatch.send(provider, 'open', { ...command('a', 20), intentId: 'second' }),
    ]);
    expect([first.kind, second.kind, sent]).toEqual(['delivered', 'not_sent', ['first']]);
  });

  it('calls a device that does not answer unknown, and frees it for the next command', async () => {
    // Time stands still for the deadline, so that it can not be over before the command is sent.
    const dispatch = createDispatch({ clock: { ...systemClock, monotonicMs: () => 0 }, logger });
    const silent = providerWith(() => new Promise(() => undefined));
    expect((await dispatch.send(silent, 'open', { ...command('a'), deadlineMs: 20 })).kind).toBe('unknown');
    expect(
      (
        await dispatch.send(
          providerWith(async () => delivered),
          'open',
          command('a'),
        )
      ).kind,
    ).toBe('delivered');
  });

  it('calls a provider that throws unknown: it may have sent', async () => {
    const dispatch = createDispatch({ clock: systemClock, logger });
    const broken = providerWith(async () => {
      throw new Error('bug');
    });
    expect((await dispatch.send(broken, 'open', command('a'))).kind).toBe('unknown');
  });
});

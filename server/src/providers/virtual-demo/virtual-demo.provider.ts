import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  Command,
  Delivery,
  ObservedStatus,
  Provider,
  ProviderContext,
  ProviderDefinition,
  Verb,
} from '../provider.ts';
import { createCommandLog } from './command-log.ts';
import { type VirtualDemoConfig, virtualDemoManifest } from './virtual-demo.manifest.ts';

/** Simulated doors and lights. Each door keeps its own state and closes itself, as a real one with a pulse does. */
export const virtualDemo: ProviderDefinition = { manifest: virtualDemoManifest, create: createVirtualDemo };

const source = 'virtual_demo';

function createVirtualDemo(context: ProviderContext): Provider {
  const log = createCommandLog(context.dataDir, context.clock);
  const doors = createDoors(context);
  const act = (verb: Verb) => (command: Command) => simulate(context, log.append, doors, verb, command);
  return {
    actions: { open: act('open'), close: act('close'), toggle: act('toggle') },
    health: () => 'ok',
    // The simulated devices live in this process: when it starts, they have just been switched on.
    statesAtStart: (entities) => entities.map((entity) => ({ ...entity, status: 'closed', source })),
    close: async () => {
      doors.stop();
      log.close();
    },
  };
}

type Doors = ReturnType<typeof createDoors>;

async function simulate(
  context: ProviderContext,
  append: (verb: Verb, command: Command) => void,
  doors: Doors,
  verb: Verb,
  command: Command,
): Promise<Delivery> {
  const config = command.config as VirtualDemoConfig;
  const failure = failureOf(config);
  if (failure === 'unreachable') return { kind: 'not_sent', reason: 'the simulated device is not reachable' };
  if (context.clock.monotonicMs() >= command.deadlineMs)
    return { kind: 'not_sent', reason: 'the deadline has passed' };
  append(verb, command);
  if (config.latency_ms) await delay(config.latency_ms);
  if (failure === 'refuse') return { kind: 'refused', reason: 'the simulated device refused' };
  const observed = doors.move(verb, command);
  if (failure === 'lose_reply') return { kind: 'unknown', reason: 'the simulated device did not answer' };
  return { kind: 'delivered', observed };
}

function failureOf(config: VirtualDemoConfig): VirtualDemoConfig['failure_mode'] | null {
  const rate = config.failure_rate ?? 0;
  if (rate <= 0 || randomInt(1_000_000) >= rate * 1_000_000) return null;
  return config.failure_mode ?? 'refuse';
}

function createDoors(context: ProviderContext) {
  const states = new Map<string, ObservedStatus>();
  const timers = new Map<string, NodeJS.Timeout>();

  function closeLater(command: Command, seconds: number): void {
    const timer = setTimeout(() => {
      timers.delete(command.entityId);
      states.set(command.entityId, 'closed');
      context.onState({ orgId: command.orgId, entityId: command.entityId, status: 'closed', source });
    }, seconds * 1000);
    timer.unref();
    timers.set(command.entityId, timer);
  }

  return {
    move(verb: Verb, command: Command): ObservedStatus {
      const id = command.entityId;
      const opens = verb === 'open' || (verb === 'toggle' && states.get(id) !== 'open');
      clearTimeout(timers.get(id));
      timers.delete(id);
      if (opens && command.pulseSeconds !== null) closeLater(command, command.pulseSeconds);
      const status = opens ? 'open' : 'closed';
      states.set(id, status);
      return status;
    },
    stop(): void {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}

import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { done } from '../ops.ts';
import type {
  Command,
  Connection,
  Delivery,
  Link,
  ObservedStatus,
  ProviderContext,
  ProviderDefinition,
  Verb,
} from '../provider.ts';
import { type CommandLog, createCommandLog } from './command-log.ts';
import {
  type DemoFailure,
  type NextFailures,
  type VirtualDemoConfig,
  virtualDemoManifest,
} from './virtual-demo.manifest.ts';

/** Simulated doors and lights. Each door keeps its own state and closes itself, as a real one with a pulse does. */
export const virtualDemo: ProviderDefinition = { manifest: virtualDemoManifest, connect };

interface Demo {
  readonly config: VirtualDemoConfig;
  readonly context: ProviderContext;
  readonly log: CommandLog;
  readonly doors: Doors;
  /** Failures that were asked for and have not happened yet. */
  next: { readonly mode: DemoFailure; readonly left: number };
}

function connect(link: Link, context: ProviderContext): Connection {
  const demo: Demo = {
    config: link.config,
    context,
    log: createCommandLog(context.dataDir, context.clock),
    doors: createDoors(context.onState),
    next: { mode: 'refuse', left: 0 },
  };
  const act = (verb: Verb) => (command: Command) => simulate(demo, verb, command);
  return {
    actions: { open: act('open'), close: act('close'), toggle: act('toggle') },
    ops: {
      'faults.next': async (input) => {
        const { mode, count = 1 } = input as NextFailures;
        demo.next = { mode, left: count };
        return done({ mode, count });
      },
    },
    health: () => 'ok',
    bind: (entities) => demo.doors.switchOn(entities.map((entity) => entity.entityId)),
    close: async () => {
      demo.doors.stop();
      demo.log.close();
    },
  };
}

async function simulate(demo: Demo, verb: Verb, command: Command): Promise<Delivery> {
  const { config, context, log, doors } = demo;
  const failure = failureOf(demo);
  if (failure === 'unreachable') return { kind: 'not_sent', reason: 'the simulated device is not reachable' };
  if (context.clock.monotonicMs() >= command.deadlineMs) {
    return { kind: 'not_sent', reason: 'the deadline has passed' };
  }
  log.append(verb, command);
  if (config.latency_ms) await delay(config.latency_ms);
  if (failure === 'refuse') return { kind: 'refused', reason: 'the simulated device refused' };
  const observed = doors.move(verb, command);
  if (failure === 'lose_reply') return { kind: 'unknown', reason: 'the simulated device did not answer' };
  return { kind: 'delivered', observed };
}

function failureOf(demo: Demo): DemoFailure | null {
  const { config, next } = demo;
  if (next.left > 0) {
    demo.next = { ...next, left: next.left - 1 };
    return next.mode;
  }
  const rate = config.failure_rate ?? 0;
  if (rate <= 0 || randomInt(1_000_000) >= rate * 1_000_000) return null;
  return config.failure_mode ?? 'refuse';
}

interface Doors {
  /** The simulated devices live in this connection: those it sees for the first time have just been switched on. */
  switchOn(entityIds: readonly string[]): void;
  move(verb: Verb, command: Command): ObservedStatus;
  stop(): void;
}

function createDoors(onState: ProviderContext['onState']): Doors {
  const states = new Map<string, ObservedStatus>();
  const timers = new Map<string, NodeJS.Timeout>();

  function shut(id: string): void {
    timers.delete(id);
    states.set(id, 'closed');
    onState(id, 'closed');
  }

  return {
    switchOn: (entityIds) => {
      for (const id of entityIds) if (!states.has(id)) shut(id);
    },
    move(verb, { entity: { entityId: id }, pulseSeconds }) {
      const opens = verb === 'open' || (verb === 'toggle' && states.get(id) !== 'open');
      clearTimeout(timers.get(id));
      timers.delete(id);
      if (opens && pulseSeconds !== null) timers.set(id, setTimeout(shut, pulseSeconds * 1000, id).unref());
      const status = opens ? 'open' : 'closed';
      states.set(id, status);
      return status;
    },
    stop: () => {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import type { ActionPreview, ActionResult } from '@lintel/contract/actions';
import type { Cluster } from '../cluster/cluster.ts';
import type { Leases } from '../cluster/leases.ts';
import type { WakeUp } from '../cluster/node-bus.ts';
import { answerRequest } from '../cluster/node-requests.ts';
import type { Database } from '../db/database.ts';
import type { Call, OrgScope, Principal } from '../kernel/call.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { createPolicies, type Policies } from '../policy/policies.ts';
import { createSlowedUse, type SlowedUse } from '../quota/slowed-use.ts';
import { createCloseJobs } from './close-jobs.ts';
import { createDeliveries, type Deliveries } from './deliveries.ts';
import { createDispatch } from './dispatch.ts';
import { executeAction } from './execute-action.ts';
import { createHolds } from './holds.ts';
import { createIntentOpener, type IntentOpener } from './intent-opener.ts';
import { type OpenFacts, openFacts } from './open-facts.ts';
import { createOutcomeWriter, type OutcomeWriter } from './outcome-writer.ts';
import type { ActionRequest } from './prepare-action.ts';
import { previewAction } from './preview-action.ts';
import { createProviderOps, type ProviderOps } from './provider-ops.ts';
import type { Providers } from './providers.ts';
import { createRecovery } from './recovery.ts';
import { createCommandRelay } from './relay.ts';
import { createSlowDown, type SlowDown } from './slow-down.ts';
import { createTargets, type Targets } from './targets.ts';

export interface EngineDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly targets: Targets;
  readonly policies: Policies;
  readonly providers: Providers;
  readonly deliveries: Deliveries;
  readonly intents: IntentOpener;
  readonly outcomes: OutcomeWriter;
  readonly slowedUse: SlowedUse;
  readonly slowDown: SlowDown;
}

export interface Engine {
  readonly runOp: ProviderOps['run'];
  execute(call: Call, org: OrgScope, request: ActionRequest): Promise<ActionResult>;
  preview(org: OrgScope, principal: Principal, request: ActionRequest): Promise<ActionPreview>;
  openFacts(org: OrgScope, entityId: string): Promise<OpenFacts | null>;
  start(): Promise<void>;
  /** Hands the connections over to the other nodes, when there are any; the requests that still come are sent there. */
  leave(): Promise<void>;
  stop(): Promise<void>;
}

export interface EngineOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly providers: Providers;
  readonly cluster: Cluster;
  readonly wrap?: ((deps: EngineDeps) => EngineDeps) | undefined;
}

/** Whoever looked up the owner of a connection just before it went has asked it within this time. */
const settleMs = 300;

export function createEngine(options: EngineOptions): Engine {
  const { db, logger, providers, cluster } = options;
  const { leases, bus, wakeUps } = cluster;
  const real = createDeps(options);
  const deps = options.wrap?.(real) ?? real;
  const relay = createCommandRelay(deps, logger);
  providers.relayThrough(relay);
  const recovery = createRecovery({ db, logger });
  const ops = createProviderOps({ ...options, ...cluster });
  const closeJobs = createCloseJobs(deps, logger);
  const holds = createHolds(deps, logger);
  return {
    runOp: ops.run,
    execute: (call, org, request) => executeAction(deps, call, org, request),
    preview: (org, principal, request) => previewAction(deps, org, principal, request),
    openFacts: (org, entityId) => openFacts(deps, org, entityId),
    async start() {
      await recovery.start();
      await providers.start();
      await bus.start({
        onRequest: (body) => answerRequest(body, { command: deps.deliveries.answer, op: ops.answer }),
        onWakeUp: (wakeUp) => void wakeUpTo(providers, leases, wakeUp, logger),
      });
      closeJobs.start();
      holds.start();
    },
    async leave() {
      if (!leases.hasOthers()) return;
      await leases.leave();
      await wakeUps.settled();
      await delay(settleMs);
    },
    async stop() {
      await holds.stop();
      await closeJobs.stop();
      await recovery.stop();
      await relay.settled();
      await providers.close();
      await wakeUps.settled();
      await bus.close();
    },
  };
}

function createDeps({ db, clock, logger, providers, cluster }: EngineOptions): EngineDeps {
  const { leases, bus } = cluster;
  const slowedUse = createSlowedUse({ db, clock });
  const dispatch = createDispatch({ clock, logger });
  return {
    db,
    clock,
    providers,
    targets: createTargets(db),
    policies: createPolicies(db),
    deliveries: createDeliveries({ clock, logger, providers, leases, bus, dispatch }),
    intents: createIntentOpener(db),
    outcomes: createOutcomeWriter(db),
    slowedUse,
    slowDown: createSlowDown({ db, use: slowedUse }),
  };
}

async function wakeUpTo(
  providers: Providers,
  leases: Leases,
  { orgIds, leases: hasFreeLeases }: WakeUp,
  logger: Logger,
): Promise<void> {
  try {
    if (hasFreeLeases) await leases.look();
    await providers.refresh(orgIds);
  } catch (error) {
    logger.warn({ err: error }, 'a wake-up could not be followed; the next look will');
  }
}

import type { ActionPreview, ActionResult } from '@lintel/contract/actions';
import type { Database } from '../db/database.ts';
import type { Call, OrgScope, Principal } from '../kernel/call.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { createCloseJobs } from './close-jobs.ts';
import { createDispatch, type Dispatch } from './dispatch.ts';
import { executeAction } from './execute-action.ts';
import { createIntentOpener, type IntentOpener } from './intent-opener.ts';
import { createOutcomeWriter, type OutcomeWriter } from './outcome-writer.ts';
import type { ActionRequest } from './prepare-action.ts';
import { previewAction } from './preview-action.ts';
import type { Providers } from './providers.ts';
import { createRecovery } from './recovery.ts';
import { createCommandRelay } from './relay.ts';
import { createTargets, type Targets } from './targets.ts';

export interface EngineDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly targets: Targets;
  readonly providers: Providers;
  readonly dispatch: Dispatch;
  readonly intents: IntentOpener;
  readonly outcomes: OutcomeWriter;
}

export interface Engine {
  execute(call: Call, org: OrgScope, request: ActionRequest): Promise<ActionResult>;
  preview(org: OrgScope, principal: Principal, request: ActionRequest): Promise<ActionPreview>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface EngineOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly providers: Providers;
}

export function createEngine({ db, clock, logger, providers }: EngineOptions): Engine {
  const deps: EngineDeps = {
    db,
    clock,
    providers,
    targets: createTargets(db),
    dispatch: createDispatch({ clock, logger }),
    intents: createIntentOpener(db),
    outcomes: createOutcomeWriter(db),
  };
  const relay = createCommandRelay(deps, logger);
  providers.relayThrough(relay);
  const recovery = createRecovery({ db, logger });
  const closeJobs = createCloseJobs(deps, logger);
  return {
    execute: (call, org, request) => executeAction(deps, call, org, request),
    preview: (org, principal, request) => previewAction(deps, org, principal, request),
    async start() {
      await recovery.start();
      await providers.start();
      closeJobs.start();
    },
    async stop() {
      await closeJobs.stop();
      await recovery.stop();
      await relay.settled();
      await providers.close();
    },
  };
}

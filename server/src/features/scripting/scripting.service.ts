import { createHash } from 'node:crypto';
import { scriptKinds } from '@lintel/contract/script-functions';
import type { ScriptResult } from '@lintel/contract/scripting';
import { originOf, recordEvent } from '../../audit/audit.store.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError } from '../../kernel/app-error.ts';
import { type Call, type OrgScope, type Principal, principalOf } from '../../kernel/call.ts';
import { ulid } from '../../kernel/ulid.ts';
import { meter } from '../../quota/meter.ts';
import { createLiveRecords, type RecordDeps } from './live-records.ts';
import { createPlannedRecords, type PlanDeps } from './planned-records.ts';
import { type ChangeLog, createChangeLog } from './script-changes.ts';
import { createScriptHost } from './script-host.ts';
import type { ScriptCaller } from './script-records.ts';
import type { CallService, ScriptOutcome, ScriptRunner } from './script-runner.ts';
import { freeSlot, takeSlot } from './scripting.store.ts';

export interface ScriptingDeps extends RecordDeps, PlanDeps {
  readonly db: Database;
  readonly runner: ScriptRunner;
  /** Names the version marker among the script's constants. */
  readonly brand: string;
}

export interface ScriptInput {
  readonly script: string;
  readonly isPlan: boolean;
}

export interface ScriptingService {
  execute(call: Call, org: OrgScope, input: ScriptInput): Promise<ScriptResult>;
  stop(): Promise<void>;
}

export function createScriptingService(deps: ScriptingDeps): ScriptingService {
  return {
    execute: (call, org, input) => execute(deps, call, org, input),
    stop: () => deps.runner.stop(),
  };
}

const slots = 2;
/** A little more than a script may take. */
const slotSeconds = 330;

async function execute(
  deps: ScriptingDeps,
  call: Call,
  org: OrgScope,
  input: ScriptInput,
): Promise<ScriptResult> {
  requireExecute(principalOf(call));
  const runId = ulid();
  await deps.db.inOrg(org.id, (tx) => begin(tx, org.id, runId));
  const log = createChangeLog(input.isPlan);
  let outcome: ScriptOutcome | null = null;
  try {
    outcome = await runScript(deps, call, org, input, log);
  } finally {
    const ended = { input, outcome, changes: log.count() };
    await deps.db.inOrg(org.id, async (tx) => {
      await freeSlot(tx, org.id, runId);
      await recordExecution(tx, call, org, ended);
    });
  }
  if (outcome.kind === 'failed') throw scriptError(outcome);
  const { value, output } = outcome;
  return { result: value, output: [...output], ...(input.isPlan ? { changes: log.listed() } : {}) };
}

/** Interface 5.6: administrators are asked for it too. */
function requireExecute({ grants }: Principal): void {
  if (!grants.some(({ role }) => role === 'execute'))
    throw new AppError('forbidden', 'this needs the role execute in at least one organization');
}

async function begin(tx: Tx, orgId: string, runId: string): Promise<void> {
  if (!(await takeSlot(tx, orgId, runId, { slots, seconds: slotSeconds })))
    throw new AppError('rate_limited', `the organization runs ${slots} scripts already`, {
      retryAfterSeconds: 5,
    });
  await meter(tx, orgId, 'scripting_executions');
}

function runScript(
  deps: ScriptingDeps,
  call: Call,
  org: OrgScope,
  { script, isPlan }: ScriptInput,
  log: ChangeLog,
): Promise<ScriptOutcome> {
  const caller: ScriptCaller = { call: stepOf(call, call), org };
  const live = createLiveRecords(deps, caller);
  const records = isPlan ? createPlannedRecords(deps, caller, live) : live;
  const host = createScriptHost(records, log);
  const callService: CallService = async (name, args) => {
    // A script can take minutes: whoever lost a right meanwhile has lost it for the next step.
    caller.call = stepOf(call, (await call.renewed?.()) ?? call);
    return host(name, args);
  };
  const constants = { [deps.brand.toUpperCase()]: '1', TYPES: [...scriptKinds] };
  const isGone = () => call.isGone?.() === true;
  return deps.runner.run({ job: { script, constants, isPlan }, callService, isGone });
}

/** Idempotency key and confirmation were meant for the request, not for each of its steps. */
const stepOf = (call: Call, now: Call): Call => ({
  ...call,
  principal: now.principal,
  recalled: false,
  source: 'scripting',
  idempotencyKey: null,
  confirmation: null,
});

interface Ended {
  readonly input: ScriptInput;
  /** Null after a fault of the service. */
  readonly outcome: ScriptOutcome | null;
  readonly changes: number;
}

/** What tells one script from another, never its text: there may be secrets in it, and in what it threw. */
async function recordExecution(
  tx: Tx,
  call: Call,
  org: OrgScope,
  { input, outcome, changes }: Ended,
): Promise<void> {
  const failure =
    outcome?.kind === 'failed'
      ? { error: outcome.failure.kind, line: outcome.failure.line, column: outcome.failure.column }
      : {};
  await recordEvent(tx, originOf(call), {
    orgId: org.id,
    type: 'scripting.executed',
    outcome: outcome?.kind === 'done' ? 'succeeded' : 'failed',
    details: {
      sha256: createHash('sha256').update(input.script).digest('hex'),
      bytes: Buffer.byteLength(input.script),
      plan: input.isPlan,
      changes,
      ...failure,
    },
  });
}

function scriptError({ failure, output }: Extract<ScriptOutcome, { kind: 'failed' }>): AppError {
  const { message, line, column } = failure;
  return new AppError('script_error', message, {
    details: [{ path: '/script', message, line, column }],
    output,
    audited: true,
  });
}

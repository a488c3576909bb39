import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Json } from '@lintel/script/values/json';
import { AppError } from '../../kernel/app-error.ts';
import type { FromWorker, ScriptFailure, ScriptJob, ToWorker } from './script-messages.ts';

export type CallService = (name: string, args: readonly Json[]) => Promise<unknown>;

export interface ScriptRun {
  readonly job: ScriptJob;
  /** What it throws as an AppError the script is told. */
  readonly callService: CallService;
  /** Whether nobody waits for the result any more. */
  readonly isGone: () => boolean;
}

export type ScriptOutcome = { readonly output: readonly string[] } & (
  | { readonly kind: 'done'; readonly value: unknown; readonly operations: number }
  | { readonly kind: 'failed'; readonly failure: ScriptFailure }
);

export interface ScriptRunner {
  run(run: ScriptRun): Promise<ScriptOutcome>;
  /** Ends all scripts and takes no more. */
  stop(): Promise<void>;
}

export interface RunnerOptions {
  readonly maxWorkers?: number;
  readonly wallClockMs?: number;
  readonly heapMb?: number;
}

const workerFile = fileURLToPath(new URL('./script-worker.ts', import.meta.url));
/** The language counts 64 MiB of values; this is what they take at most in memory, with the language itself. */
const defaultHeapMb = 256;
const stackKb = 3_500;
/** A script is told by its own clock that its time is over; a process that does not listen is ended a little later. */
const defaultWallClockMs = 302_000;
const goneCheckMs = 250;
const idleMs = 60_000;

/**
 * One process for each script that runs: one that runs out of memory takes nothing along, as a thread might. It is
 * used again when its script came to an end by itself.
 */
export function createScriptRunner(options: RunnerOptions = {}): ScriptRunner {
  const maxWorkers = options.maxWorkers ?? Math.max(4, 2 * availableParallelism());
  const wallClockMs = options.wallClockMs ?? defaultWallClockMs;
  const idle = createIdleWorkers();
  const endings = new Set<(why: string) => void>();
  let isStopping = false;
  return {
    async run(run) {
      if (isStopping) throw new AppError('unavailable', 'the service is stopping');
      if (endings.size >= maxWorkers)
        throw new AppError('rate_limited', 'too many scripts are running', { retryAfterSeconds: 5 });
      const worker = idle.take() ?? newWorker(options.heapMb ?? defaultHeapMb);
      hold(worker);
      return supervise(worker, run, wallClockMs, endings, idle.giveBack);
    },
    stop: async () => {
      isStopping = true;
      for (const end of [...endings]) end('the service is stopping');
      idle.close();
    },
  };
}

/** Without the settings of the service: nothing that a script could be told by accident. */
function newWorker(heapMb: number): ChildProcess {
  return fork(workerFile, [], {
    execArgv: [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=16', `--stack-size=${stackKb}`],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

function hold(worker: ChildProcess): void {
  worker.ref();
  worker.channel?.ref();
}

/** An idle process does not keep the service alive. */
function letGo(worker: ChildProcess): void {
  worker.unref();
  worker.channel?.unref();
}

function terminate(worker: ChildProcess): void {
  worker.kill('SIGKILL');
}

/** How V8 ends a process that needs more memory than it may have. */
const outOfMemorySignals = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL']);

function supervise(
  worker: ChildProcess,
  { job, callService, isGone }: ScriptRun,
  wallClockMs: number,
  endings: Set<(why: string) => void>,
  giveBack: (worker: ChildProcess) => void,
): Promise<ScriptOutcome> {
  const output: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<ScriptOutcome>();
  const timer = setTimeout(() => end('Script ran out of time'), wallClockMs);
  const watch = setInterval(() => isGone() && end('Script terminated'), goneCheckMs);
  const settle = () => {
    clearTimeout(timer);
    clearInterval(watch);
    endings.delete(end);
    worker.off('message', hear).off('error', fail).off('exit', leave);
  };
  /** The process stops wherever it is; what the service does for it at this moment comes to its end by itself. */
  const end = (why: string) => {
    settle();
    resolve({
      kind: 'failed',
      failure: { message: why, kind: 'ErrorTerminated', line: 0, column: 0 },
      output,
    });
    terminate(worker);
  };
  const finish = (outcome: ScriptOutcome) => {
    settle();
    giveBack(worker);
    resolve(outcome);
  };
  endings.add(end);
  const hear = (message: FromWorker) => {
    if (message.type === 'printed') output.push(...message.texts);
    else if (message.type === 'call') void answer(worker, callService, message, reject);
    else if (message.type === 'done')
      finish({ kind: 'done', value: message.value, operations: message.operations, output });
    else finish({ kind: 'failed', failure: message.failure, output });
  };
  const fail = (error: Error) => {
    settle();
    terminate(worker);
    reject(error);
  };
  const leave = (code: number | null, signal: NodeJS.Signals | null) => {
    if (code === 1) fail(new Error('the process of a script failed'));
    else if (signal !== null && outOfMemorySignals.has(signal)) end('Total size of values too large');
    else end('Script terminated');
  };
  worker.on('message', hear).on('error', fail).on('exit', leave);
  tell(worker, { type: 'run', job });
  return promise;
}

/** One that is gone says so by its exit. */
function tell(worker: ChildProcess, message: ToWorker): void {
  if (worker.connected) worker.send(message, () => undefined);
}

/** Whoever is refused for want of rights stops; anything else the script may catch. */
const finalCodes = new Set([
  'forbidden',
  'unauthorized',
  'csrf_rejected',
  'policy_denied',
  'approval_required',
  'unavailable',
]);

async function answer(
  worker: ChildProcess,
  callService: CallService,
  { name, args }: Extract<FromWorker, { type: 'call' }>,
  fail: (error: unknown) => void,
): Promise<void> {
  const reply = (message: ToWorker) => tell(worker, message);
  try {
    reply({ type: 'answer', value: await callService(name, args) });
  } catch (error) {
    const isTold = error instanceof AppError && error.code !== 'internal_error';
    // A fault of the service is no business of the script: the request fails as any other would.
    if (!isTold) fail(error);
    const [code, text] = isTold
      ? [error.code, error.message]
      : ['internal_error', 'something went wrong here'];
    reply({ type: 'refusal', message: `${code}: ${text}`, isFinal: !isTold || finalCodes.has(code) });
  }
}

function createIdleWorkers() {
  const idle = new Map<ChildProcess, () => void>();
  const take = (worker: ChildProcess): ChildProcess => {
    idle.get(worker)?.();
    idle.delete(worker);
    return worker;
  };
  return {
    take: (): ChildProcess | null => {
      const [worker] = idle.keys();
      return worker === undefined ? null : take(worker);
    },
    giveBack: (worker: ChildProcess) => {
      const drop = () => terminate(take(worker));
      const timer = setTimeout(drop, idleMs).unref();
      idle.set(worker, () => {
        clearTimeout(timer);
        worker.off('error', drop).off('exit', drop);
      });
      worker.on('error', drop).on('exit', drop);
      letGo(worker);
    },
    close: () => {
      for (const worker of [...idle.keys()]) terminate(take(worker));
    },
  };
}

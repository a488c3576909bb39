import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
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

const workerFile = new URL('./script-worker.ts', import.meta.url);
/** The language counts 64 MiB of values; this is what they take at most in memory, with the language itself. */
const defaultHeapMb = 256;
const resourceLimits = { maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
/** A script is told by its own clock that its time is over; a thread that does not listen is ended a little later. */
const defaultWallClockMs = 302_000;
const goneCheckMs = 250;
const idleMs = 60_000;

/** One thread for each script that runs. A thread is used again when its script came to an end by itself. */
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
      worker.ref();
      return supervise(worker, run, wallClockMs, endings, idle.giveBack);
    },
    stop: async () => {
      isStopping = true;
      for (const end of [...endings]) end('the service is stopping');
      await idle.close();
    },
  };
}

/** Without the settings of the service: nothing that a script could be told by accident. */
const newWorker = (heapMb: number): Worker =>
  new Worker(workerFile, { resourceLimits: { ...resourceLimits, maxOldGenerationSizeMb: heapMb }, env: {} });

function supervise(
  worker: Worker,
  { job, callService, isGone }: ScriptRun,
  wallClockMs: number,
  endings: Set<(why: string) => void>,
  giveBack: (worker: Worker) => void,
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
  /** The thread stops wherever it is; what the service does for it at this moment comes to its end by itself. */
  const end = (why: string) => {
    settle();
    resolve({
      kind: 'failed',
      failure: { message: why, kind: 'ErrorTerminated', line: 0, column: 0 },
      output,
    });
    void worker.terminate();
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
  const fail = (error: Error & { code?: string }) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') return end('Total size of values too large');
    settle();
    void worker.terminate();
    reject(error);
  };
  const leave = () => end('Script terminated');
  worker.on('message', hear).on('error', fail).on('exit', leave);
  worker.postMessage({ type: 'run', job } satisfies ToWorker);
  return promise;
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
  worker: Worker,
  callService: CallService,
  { name, args }: Extract<FromWorker, { type: 'call' }>,
  fail: (error: unknown) => void,
): Promise<void> {
  const reply = (message: ToWorker) => worker.postMessage(message);
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
  const idle = new Map<Worker, () => void>();
  const take = (worker: Worker): Worker => {
    idle.get(worker)?.();
    idle.delete(worker);
    return worker;
  };
  return {
    take: (): Worker | null => {
      const [worker] = idle.keys();
      return worker === undefined ? null : take(worker);
    },
    giveBack: (worker: Worker) => {
      const drop = () => void take(worker).terminate();
      const timer = setTimeout(drop, idleMs).unref();
      idle.set(worker, () => {
        clearTimeout(timer);
        worker.off('error', drop).off('exit', drop);
      });
      worker.on('error', drop).on('exit', drop).unref();
    },
    close: async () => {
      await Promise.all([...idle.keys()].map((worker) => take(worker).terminate()));
    },
  };
}

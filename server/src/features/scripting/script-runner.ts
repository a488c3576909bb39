import { availableParallelism } from 'node:os';
import type { Json } from '@lintel/script/values/json';
import { AppError } from '../../kernel/app-error.ts';
import { createIdleProcesses } from './script-idle.ts';
import type { FromWorker, ScriptFailure, ScriptJob, ToWorker } from './script-messages.ts';
import { type Departure, type ScriptProcess, startProcess } from './script-process.ts';

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
  /** Of a process that runs a script. */
  readonly maxMemoryMb?: number;
  /** Of a process that is kept for the next one. */
  readonly maxIdleMemoryMb?: number;
  readonly workerFile?: string;
}

/** The language counts 64 MiB of values; this is what they take at most in memory, with the language itself. */
const defaultHeapMb = 256;
const defaultMemoryMb = 512;
const defaultIdleMemoryMb = 160;
/** A script is told by its own clock that its time is over; a process that does not listen is ended a little later. */
const defaultWallClockMs = 302_000;
const watchMs = 250;
/** More than the process lets a script print. */
const maxOutput = 2 * 1024 * 1024;

interface Rules {
  readonly wallClockMs: number;
  readonly maxMemoryMb: number;
}

/**
 * One process for each script that runs: one that runs out of memory takes nothing along, as a thread might. It is
 * used again when its script came to an end by itself and left it small. Nothing that a process says is trusted to be
 * short or to come in turn.
 */
export function createScriptRunner(options: RunnerOptions = {}): ScriptRunner {
  const maxWorkers = options.maxWorkers ?? Math.max(4, 2 * availableParallelism());
  const rules: Rules = {
    wallClockMs: options.wallClockMs ?? defaultWallClockMs,
    maxMemoryMb: options.maxMemoryMb ?? defaultMemoryMb,
  };
  const idle = createIdleProcesses(options.maxIdleMemoryMb ?? defaultIdleMemoryMb);
  const endings = new Set<(why: string) => void>();
  let isStopping = false;
  return {
    async run(run) {
      if (isStopping) throw new AppError('unavailable', 'the service is stopping');
      if (endings.size >= maxWorkers)
        throw new AppError('rate_limited', 'too many scripts are running', { retryAfterSeconds: 5 });
      const worker = idle.take() ?? startProcess({ heapMb: defaultHeapMb, ...options });
      worker.hold();
      return supervise(worker, run, rules, endings, idle.giveBack);
    },
    stop: async () => {
      isStopping = true;
      for (const end of [...endings]) end('the service is stopping');
      idle.close();
    },
  };
}

const departures: Readonly<Record<Exclude<Departure['kind'], 'failed'>, string>> = {
  'out of memory': 'Total size of values too large',
  flooding: 'Size of message too large',
  gone: 'Script terminated',
};

function supervise(
  worker: ScriptProcess,
  { job, callService, isGone }: ScriptRun,
  { wallClockMs, maxMemoryMb }: Rules,
  endings: Set<(why: string) => void>,
  giveBack: (worker: ScriptProcess) => void,
): Promise<ScriptOutcome> {
  const output = createOutput();
  const { promise, resolve, reject } = Promise.withResolvers<ScriptOutcome>();
  let isOver = false;
  /** True for the first that ends it. */
  const settle = (): boolean => {
    if (isOver) return false;
    isOver = true;
    clearTimeout(timer);
    clearInterval(watch);
    return endings.delete(end);
  };
  /** The process stops wherever it is; what the service does for it at this moment comes to its end by itself. */
  const end = (why: string) => {
    if (!settle()) return;
    const failure = { message: why, kind: 'ErrorTerminated', line: 1, column: 1 };
    resolve({ kind: 'failed', failure, output: output.texts });
    worker.end();
  };
  const finish = (outcome: ScriptOutcome) => {
    if (!settle()) return;
    giveBack(worker);
    resolve(outcome);
  };
  const fail = (error: unknown) => {
    if (!settle()) return;
    worker.end();
    reject(error);
  };
  const look = async () => {
    if (isGone()) return end('Script terminated');
    const used = await worker.memoryMb();
    if (used !== null && used > maxMemoryMb) end('Total size of values too large');
  };
  const timer = setTimeout(() => end('Script ran out of time'), wallClockMs);
  const watch = setInterval(() => void look(), watchMs);
  endings.add(end);
  const answerNext = inTurn((call) => answer(worker, callService, call, fail));
  const hear = (message: FromWorker) => {
    if (message.type === 'printed') output.add(message.texts) || end('Size of output too large');
    else if (message.type === 'call') answerNext(message) || end('Script terminated');
    else if (message.type === 'failed')
      finish({ kind: 'failed', failure: message.failure, output: output.texts });
    else finish({ kind: 'done', value: message.value, operations: message.operations, output: output.texts });
  };
  const leave = (why: Departure) => (why.kind === 'failed' ? fail(why.error) : end(departures[why.kind]));
  worker.listen({ hear, leave });
  worker.tell({ type: 'run', job });
  return promise;
}

function createOutput() {
  const texts: string[] = [];
  let size = 0;
  return {
    texts,
    /** False when it is too much. */
    add: (more: readonly string[]): boolean => {
      for (const text of more) {
        size += text.length + 16;
        if (size > maxOutput) return false;
        texts.push(text);
      }
      return true;
    },
  };
}

type CallMessage = Extract<FromWorker, { type: 'call' }>;

/** False for a call while another waits: a script does one thing at a time. */
function inTurn(perform: (call: CallMessage) => Promise<void>): (call: CallMessage) => boolean {
  let isBusy = false;
  return (call) => {
    if (isBusy) return false;
    isBusy = true;
    void perform(call).finally(() => {
      isBusy = false;
    });
    return true;
  };
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

const partLength = 500;

/** Others get their turn while a long list is written. */
async function replyInParts(reply: (message: ToWorker) => void, value: unknown): Promise<void> {
  if (!Array.isArray(value)) return reply({ type: 'answer', value });
  let at = 0;
  for (; at + partLength < value.length; at += partLength) {
    reply({ type: 'part', items: value.slice(at, at + partLength) });
    await new Promise((resolve) => setImmediate(resolve));
  }
  reply({ type: 'answer', value: value.slice(at) });
}

async function answer(
  worker: ScriptProcess,
  callService: CallService,
  { name, args }: CallMessage,
  fail: (error: unknown) => void,
): Promise<void> {
  const reply = (message: ToWorker) => worker.tell(message);
  try {
    await replyInParts(reply, await callService(name, args));
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

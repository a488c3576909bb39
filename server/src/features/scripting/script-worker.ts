// The process a script runs in. It holds no connection, no secret and nothing of the service: only the language, and a
// channel over which it asks.
import { Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { localFunctions, serviceFunctions } from '@lintel/contract/script-functions';
import { createFault, ScriptError } from '@lintel/script/errors';
import { HostError, type HostFunction } from '@lintel/script/host';
import { compile, run } from '@lintel/script/script';
import { toJson } from '@lintel/script/values/json';
import { ulid } from '../../kernel/ulid.ts';
import type { FromWorker, ScriptFailure, ScriptJob, ToWorker } from './script-messages.ts';
import { listenTo, writeTo } from './script-pipe.ts';

// The service is at the other end; when it goes, so does this process.
const pipe = new Socket({ fd: 3 });
const tell = (message: FromWorker) => writeTo(pipe, message);
const leave = () => process.exit(0);
pipe.on('close', leave).on('error', leave);

// A script must not take the processor from the process that opens doors.
setPriority(constants.priority.PRIORITY_LOW);

let answered: ((answer: ToWorker) => void) | null = null;
const hear = (message: ToWorker) => {
  if (message.type === 'run') void runJob(message.job);
  else answered?.(message);
};
listenTo(pipe, Number.MAX_SAFE_INTEGER, { hear: (message) => hear(message as ToWorker), refuse: leave });

const maxSleepMs = 30_000;
const maxOutput = 1024 * 1024;
const flushAt = 16 * 1024;

async function runJob(job: ScriptJob): Promise<void> {
  const output = createOutput();
  try {
    const script = compile(job.script, {
      host: { ...serviceFunctions, ...localFunctions },
      constants: job.constants,
    });
    const host = { ...callsToService(output.flush), ...localHost(job) };
    const { value, operations, place } = await run(script, { host, print: output.print });
    const result = toJson(value, { place, maxBytes: script.limits.resultBytes });
    output.flush();
    tell({ type: 'done', value: result, operations });
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    output.flush();
    tell({ type: 'failed', failure: failureOf(error) });
  }
}

const failureOf = ({ message, kind, line, column }: ScriptError): ScriptFailure => ({
  message,
  kind,
  line,
  column,
});

/** Handed over in pieces, so that a script that prints much is no flood of messages. */
function createOutput() {
  let texts: string[] = [];
  let waiting = 0;
  let total = 0;
  const flush = () => {
    if (texts.length > 0) tell({ type: 'printed', texts });
    texts = [];
    waiting = 0;
  };
  const print = (text: string) => {
    // An empty text is not free either.
    total += text.length + 16;
    if (total > maxOutput) throw createFault('ErrorDataTooLarge', 'Size of output too large');
    texts.push(text);
    waiting += text.length;
    if (waiting > flushAt) flush();
  };
  return { print, flush };
}

function callsToService(before: () => void): Record<string, HostFunction> {
  const names = Object.keys(serviceFunctions);
  return Object.fromEntries(names.map((name) => [name, (args) => callService(before, name, args)]));
}

async function callService(
  before: () => void,
  name: string,
  args: Parameters<HostFunction>[0],
): Promise<unknown> {
  before();
  const parts: unknown[] = [];
  const answer = await new Promise<ToWorker>((resolve) => {
    answered = (message) => {
      if (message.type !== 'part') return resolve(message);
      for (const item of message.items) parts.push(item);
    };
    tell({ type: 'call', name, args });
  });
  if (answer.type === 'answer') return parts.length === 0 ? answer.value : parts.concat(answer.value);
  if (answer.type === 'run' || answer.type === 'part') throw new Error('a worker runs one script at a time');
  // Of a kind that no script can catch.
  throw answer.isFinal ? createFault('ErrorTerminated', answer.message) : new HostError(answer.message);
}

function localHost({ isPlan }: ScriptJob): Record<string, HostFunction> {
  /** What is below zero is over at once, as in the engine. What is no number, or endless, is JSON's null by now. */
  const sleep = (time: unknown, unitMs: number) => {
    if (time === null) throw new HostError('the time to sleep is not a number');
    const ms = Math.min(Math.max(0, Number(time) * unitMs), maxSleepMs);
    return isPlan ? null : new Promise((resolve) => setTimeout(resolve, ms));
  };
  return {
    assert: ([condition, message]) => {
      if (condition !== true)
        throw new HostError(message === undefined ? 'assertion failed' : String(message));
      return null;
    },
    sleep: ([seconds]) => sleep(seconds, 1000),
    sleep_ms: ([ms]) => sleep(ms, 1),
    ulid: () => ulid(),
  };
}

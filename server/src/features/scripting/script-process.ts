import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { defaultLimits } from '@lintel/script/limits';
import type { FromWorker, ToWorker } from './script-messages.ts';
import { listenTo, writeTo } from './script-pipe.ts';

/** Why a process is of no more use. */
export type Departure =
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'out of memory' | 'flooding' | 'gone' };

/** Whoever uses the process now. */
export interface Listener {
  readonly hear: (message: FromWorker) => void;
  readonly leave: (why: Departure) => void;
}

export interface ScriptProcess {
  readonly tell: (message: ToWorker) => void;
  readonly listen: (listener: Listener) => void;
  /** Megabytes in memory, within the heap and beside it; null where the system does not say. */
  readonly memoryMb: () => Promise<number | null>;
  /** Whether the service stays alive for it. */
  readonly hold: () => void;
  readonly letGo: () => void;
  readonly end: () => void;
}

export interface ProcessOptions {
  readonly heapMb: number;
  /** For tests of what a process may do wrong. */
  readonly workerFile?: string;
}

const ownWorkerFile = fileURLToPath(new URL('./script-worker.ts', import.meta.url));
const stackKb = 3_500;
/** Texts beyond Latin take two bytes for each character. */
const maxMessageBytes = 2 * defaultLimits.resultBytes + 64 * 1024;
/** How V8 ends a process that needs more memory than it may have. */
const outOfMemorySignals = new Set(['SIGABRT', 'SIGTRAP', 'SIGILL']);

/** Without the settings of the service: nothing that a script could be told by accident. */
export function startProcess({ heapMb, workerFile = ownWorkerFile }: ProcessOptions): ScriptProcess {
  const limits = [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=16', `--stack-size=${stackKb}`];
  const child = spawn(process.execPath, [...limits, workerFile], {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const pipe = child.stdio[3] as Socket;
  let listener: Listener | null = null;
  const leave = (why: Departure) => listener?.leave(why);
  listenTo(pipe, maxMessageBytes, {
    hear: (message) => listener?.hear(message as FromWorker),
    refuse: () => leave({ kind: 'flooding' }),
  });
  // A process that ends takes its end of the pipe along: its exit says so.
  pipe.on('error', () => undefined);
  child.on('error', (error) => leave({ kind: 'failed', error }));
  child.on('exit', (code, signal) => {
    if (code === 1) leave({ kind: 'failed', error: new Error('the process of a script failed') });
    else leave({ kind: signal !== null && outOfMemorySignals.has(signal) ? 'out of memory' : 'gone' });
  });
  return {
    tell: (message) => writeTo(pipe, message),
    listen: (next) => {
      listener = next;
    },
    memoryMb: () => memoryOf(child.pid),
    hold: () => {
      child.ref();
      pipe.ref();
    },
    letGo: () => {
      child.unref();
      pipe.unref();
    },
    end: () => void child.kill('SIGKILL'),
  };
}

/** The limit on the heap holds for no buffers, and a heap that was large once is given back late. */
async function memoryOf(pid: number | undefined): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(status) ?? [];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

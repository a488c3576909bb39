import { steadyClock } from '../clock.ts';
import {
  createHostCaller,
  type HostCall,
  type HostFunction,
  type HostSignature,
  terminated,
} from '../host.ts';
import type { Limits } from '../limits.ts';
import { hold, outOfMemory } from '../meter.ts';
import { measure, sizeOf } from './memory.ts';
import { Flow, type Runtime } from './runtime.ts';

const operationsPerTurn = 20_000;

interface Start {
  readonly host: Readonly<Record<string, HostSignature>>;
  readonly limits: Limits;
}

interface Settings {
  readonly host?: Readonly<Record<string, HostFunction>>;
  readonly signal?: AbortSignal;
  readonly print?: (text: string) => void;
  readonly now?: () => number;
}

/** The state of a new run; `finish` gives back what waits for its end. */
export function createRuntime(script: Start, settings: Settings): { rt: Runtime; finish: () => void } {
  const { limits } = script;
  const output: string[] = [];
  const print = (text: string) => {
    output.push(text);
    settings.print?.(text);
  };
  const clock = startClock(limits.wallClockMs, settings.signal);
  const call: HostCall = { signal: clock.signal, print };
  const functions = { sleep: sleepOf(clock), ...settings.host };
  const caller = createHostCaller(script.host, functions, call, limits.argumentBytes);
  const rt: Runtime = {
    limits,
    left: limits.operations,
    memory: limits.memoryBytes,
    recount: () => recount(rt),
    now: settings.now ?? steadyClock,
    flow: Flow.on,
    fault: null,
    depth: 0,
    pauseAt: limits.operations - operationsPerTurn,
    frame: [],
    scratch: [],
    globals: new Map(),
    globalsTaken: false,
    output,
    print: (text) => print(text),
    host: async (name, args) => {
      clock.check();
      const value = await Promise.race([caller(name, args), clock.ended]);
      clock.check();
      hold(rt, sizeOf([value]));
      return value;
    },
    pause: async () => {
      rt.pauseAt = rt.left - operationsPerTurn;
      await new Promise((resolve) => setImmediate(resolve));
      clock.check();
    },
  };
  return { rt, finish: clock.stop };
}

/** Somebody must look at what is alive before the script is told that it holds too much. */
function recount(rt: Runtime): void {
  const used = measure(rt);
  rt.memory = rt.limits.memoryBytes - used;
  if (rt.memory < rt.limits.memoryBytes / 16) throw outOfMemory();
}

interface Clock {
  readonly signal: AbortSignal;
  /** Rejects when time is up or somebody cancels; it never resolves. */
  readonly ended: Promise<never>;
  readonly check: () => void;
  readonly stop: () => void;
}

function startClock(ms: number, outer: AbortSignal | undefined): Clock {
  const controller = new AbortController();
  const ended = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error), {
      once: true,
    });
  });
  ended.catch(() => undefined);
  const end = (why?: string) => controller.abort(terminated(why));
  const cancel = () => end();
  const timer = setTimeout(() => end('Script ran out of time'), ms);
  timer.unref();
  outer?.addEventListener('abort', cancel, { once: true });
  if (outer?.aborted === true) cancel();
  return {
    signal: controller.signal,
    ended,
    check: () => controller.signal.throwIfAborted(),
    stop: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', cancel);
    },
  };
}

const sleepOf =
  (clock: Clock): HostFunction =>
  async ([seconds]) => {
    let timer: NodeJS.Timeout | undefined;
    const passed = new Promise((resolve) => {
      timer = setTimeout(resolve, Math.min(Math.max(0, Number(seconds)) * 1000, 2 ** 31 - 1));
    });
    try {
      await Promise.race([passed, clock.ended]);
    } finally {
      clearTimeout(timer);
    }
    return null;
  };

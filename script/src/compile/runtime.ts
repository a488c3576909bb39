import type { Fault } from '../errors.ts';
import type { Meter } from '../meter.ts';
import type { FunctionDefinition } from '../parser/ast.ts';
import type { Ref } from '../values/ref.ts';
import type { Cell, Value } from '../values/value.ts';

/** How a statement ended, beside its value; anything but `Flow.on` leaves the blocks around it. */
export const Flow = { on: 0, next: 1, leave: 2, back: 3, failed: 4 } as const;

/** The state of one run. */
export interface Runtime extends Meter {
  flow: number;
  /** What failed, while `flow` says so. */
  fault: Fault | null;
  depth: number;
  /** Below this many operations left, a loop lets others run. */
  pauseAt: number;
  /** The innermost frame; from there all live values can be found. */
  frame: Frame;
  /** Values that a built-in is working on, which no frame holds yet. */
  readonly scratch: Value[][];
  /** The constants set so far at the top level. */
  globals: Map<string, Value>;
  /** A closure remembers them as they are: the next one goes into a copy. */
  globalsTaken: boolean;
  readonly output: string[];
  readonly print: (text: string) => void;
  readonly host: HostCaller;
  /** Lets the event loop turn; rejects when the run is cancelled or out of time. */
  readonly pause: () => Promise<void>;
}

type HostCaller = (name: string, args: readonly Value[]) => Promise<Value>;

/**
 * The variables of one call: slot 0 is `this`, slot 1 the frame of the caller, then parameters and locals.
 * A captured variable is a cell.
 */
export type Slot = Value | Cell | Ref | Frame | Fault;
export interface Frame extends Array<Slot> {}

/** Compiled code. It answers with a promise only if `waits` of its `Code` says that it may. */
export type Run = (rt: Runtime, s: Frame) => Value;
export type RunWaiting = (rt: Runtime, s: Frame) => Value | Promise<Value>;

export interface CompiledFunction {
  readonly definition: FunctionDefinition;
  readonly waits: boolean;
  run: RunWaiting;
}

import type { Meter } from '../meter.ts';
import type { Ref } from '../values/ref.ts';
import type { FnValue, Value } from '../values/value.ts';

/** What a built-in may use of the run it is called in. */
export interface NativeRuntime extends Meter {
  readonly print: (text: string) => void;
  /** Values under construction, which count as alive. */
  readonly scratch: Value[][];
}

/** A call that a built-in wants made. The callback gets as many of the arguments as it declares. */
export interface CallbackRequest {
  readonly fn: FnValue;
  readonly args: Value[];
  readonly extras: readonly Value[];
  readonly self: Ref | undefined;
}

export type NativeCalls = Generator<CallbackRequest, Value, Value>;

interface NativeBase {
  readonly name: string;
  /** What each argument may be, as bits of `Type`. */
  readonly types: readonly number[];
  /** `own`: changes its first argument, a container, in place. `ref`: puts another value in its place. */
  readonly mode: 'pure' | 'own' | 'ref';
}

export type Native =
  | (NativeBase & {
      readonly calls: false;
      readonly run: (rt: NativeRuntime, args: Value[], self: Ref) => Value;
    })
  | (NativeBase & {
      readonly calls: true;
      readonly run: (rt: NativeRuntime, args: Value[], self: Ref) => NativeCalls;
    });

type Plain = Extract<Native, { calls: false }>['run'];
type Calling = Extract<Native, { calls: true }>['run'];

export const pure = (name: string, types: readonly number[], run: Plain): Native => ({
  name,
  types,
  mode: 'pure',
  calls: false,
  run,
});
export const owning = (name: string, types: readonly number[], run: Plain): Native => ({
  name,
  types,
  mode: 'own',
  calls: false,
  run,
});
export const replacing = (name: string, types: readonly number[], run: Plain): Native => ({
  name,
  types,
  mode: 'ref',
  calls: false,
  run,
});
export const calling = (
  name: string,
  types: readonly number[],
  run: Calling,
  mode: 'pure' | 'own' = 'pure',
): Native => ({ name, types, mode, calls: true, run });

import type { Json } from '@lintel/script/values/json';

/** What a worker is told. */
export type ToWorker =
  | { readonly type: 'run'; readonly job: ScriptJob }
  | { readonly type: 'answer'; readonly value: unknown }
  /** The beginning of a long list, of which the answer is the end. */
  | { readonly type: 'part'; readonly items: readonly unknown[] }
  /** The script may catch it, unless it ends it. */
  | { readonly type: 'refusal'; readonly message: string; readonly isFinal: boolean };

export interface ScriptJob {
  readonly script: string;
  readonly constants: Readonly<Record<string, Json>>;
  /** Sleeping is left out. */
  readonly isPlan: boolean;
}

/** What a worker tells. One call at a time: a script waits for its answer. */
export type FromWorker =
  | { readonly type: 'call'; readonly name: string; readonly args: readonly Json[] }
  | { readonly type: 'printed'; readonly texts: readonly string[] }
  | { readonly type: 'done'; readonly value: unknown; readonly operations: number }
  | { readonly type: 'failed'; readonly failure: ScriptFailure };

export interface ScriptFailure {
  readonly message: string;
  readonly kind: string;
  /** From 1; 0 where no place is known. */
  readonly line: number;
  readonly column: number;
}

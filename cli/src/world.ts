import type { Clock } from './clock.ts';
import type { Environment } from './environment.ts';

export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** Everything outside of the command; tests bring their own. */
export interface World {
  readonly environment: Environment;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  /** Ctrl-C. */
  readonly signal: AbortSignal;
}

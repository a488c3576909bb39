/** Everything a script may use up. One object; each run gets its own counters from it. */
export interface Limits {
  readonly operations: number;
  readonly expressionDepth: number;
  readonly callDepth: number;
  readonly sourceLength: number;
  readonly stringLength: number;
  readonly arrayLength: number;
  readonly mapSize: number;
  /** An estimate of what the script's values hold together. */
  readonly memoryBytes: number;
  readonly wallClockMs: number;
}

export const defaultLimits: Limits = {
  operations: 200_000,
  expressionDepth: 128,
  callDepth: 64,
  sourceLength: 1024 * 1024,
  stringLength: 1024 * 1024,
  arrayLength: 100_000,
  mapSize: 10_000,
  memoryBytes: 64 * 1024 * 1024,
  wallClockMs: 300_000,
};

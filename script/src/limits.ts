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
  /** What leaves the script, as it would be when written out: there a value counts in each place that holds it. */
  readonly resultBytes: number;
  /** All arguments of one call of a host function. */
  readonly argumentBytes: number;
  /** Of an error; what is longer is cut off. */
  readonly messageLength: number;
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
  resultBytes: 4 * 1024 * 1024,
  argumentBytes: 1024 * 1024,
  messageLength: 16 * 1024,
};

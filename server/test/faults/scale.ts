import { appendFileSync } from 'node:fs';
import { report } from '../providers/table.ts';

/** `npm run test:faults -- --full` has the numbers of design/reliability.md; `npm test` a small share of them. */
export const isFull = process.env.LINTEL_TEST_FAULTS === 'full';

export const scaled = (small: number, full: number): number => (isFull ? full : small);

/** So that a run can be repeated: `LINTEL_TEST_SEED=<seed> npm run test:faults`. */
export const seed = Number(process.env.LINTEL_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Numbers from 0 to 1 that follow from the seed (mulberry32). */
export function createRandom(own: number = seed): () => number {
  let state = own;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface FaultRow {
  /** The number in design/reliability.md, section 3. */
  readonly test: number;
  readonly name: string;
  readonly counts: string;
  readonly violations: number;
  /** The faulty variants that the same test caught, with what it found. */
  readonly mutants: string;
  /** Where it is not the one of the run: null when nothing is drawn by lot. */
  readonly seed?: number | null;
}

/** One line of the table at the end of the run. */
export function note(row: FaultRow): void {
  const file = process.env.LINTEL_TEST_FAULT_ROWS;
  if (file === undefined) report(`faults ${JSON.stringify({ seed, ...row })}`);
  else appendFileSync(file, `${JSON.stringify({ seed, ...row })}\n`);
}

// Test 50 of design/reliability.md: how long a comparison takes says nothing about the secret.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { equalInConstantTime } from '../../src/kernel/secret.ts';
import { readShippedSources } from '../support/architecture-trees.ts';
import { parseSources } from '../support/source-graph.ts';
import { note, scaled } from './scale.ts';
import { comparedSecrets } from './secret-comparisons.ts';

const samples = scaled(20_000, 200_000);
const rounds = 5;
const limit = 4.5;

type Compare = (a: Buffer, b: Buffer) => boolean;

/** The mutant: stops at the first byte that differs. */
const earlyOut: Compare = (a, b) => {
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
};

/** Welch's t of the time for guesses that differ at once against those that differ at the end, in random turns. */
function welchT(compare: Compare): number {
  const secret = randomBytes(1024);
  // One buffer for all guesses: two would lie at different places, and that shows as well.
  const guess = Buffer.from(secret);
  const times: [number[], number[]] = [[], []];
  for (let sample = 0; sample < samples; sample += 1) {
    const group = Math.random() < 0.5 ? 0 : 1;
    const at = group === 0 ? 0 : guess.length - 1;
    secret.copy(guess);
    guess[at] = (guess[at] ?? 0) ^ 1;
    const since = process.hrtime.bigint();
    compare(secret, guess);
    times[group].push(Number(process.hrtime.bigint() - since));
  }
  // What takes longest was interrupted by something else; both groups lose the same share.
  const [a, b] = times.map((list) => list.toSorted((x, y) => x - y).slice(0, Math.floor(list.length * 0.9)));
  return tOf(a ?? [], b ?? []);
}

function tOf(a: readonly number[], b: readonly number[]): number {
  const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  const variance = (list: readonly number[], center: number) =>
    list.reduce((sum, value) => sum + (value - center) ** 2, 0) / (list.length - 1) / list.length;
  return (meanA - meanB) / Math.sqrt(variance(a, meanA) + variance(b, meanB));
}

const measured = (compare: Compare): number[] =>
  Array.from({ length: rounds }, () => Math.abs(welchT(compare)));
const median = (list: readonly number[]): number =>
  list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN;

describe('50: secrets', () => {
  it('are compared in a time that does not depend on them', () => {
    welchT(equalInConstantTime);
    // One disturbed measurement proves nothing; a comparison that leaks does so every time.
    const [found, leaking] = [measured(equalInConstantTime), measured(earlyOut)];
    expect(median(found)).toBeLessThan(limit);
    expect(Math.min(...leaking)).toBeGreaterThan(limit);
    note({
      test: 50,
      name: 'timing of comparisons',
      counts: `${samples} samples × ${rounds}: |t| ${found.map((t) => t.toFixed(1)).join(', ')}`,
      violations: median(found) < limit ? 0 : 1,
      mutants: `early out: |t| ${Math.min(...leaking).toFixed(0)} and more`,
    });
  });

  it('are nowhere compared with === in what ships', () => {
    expect(comparedSecrets(readShippedSources())).toEqual([]);
  });

  it.each([
    ['if (token === expected) open();', 1],
    ['const ok = given.secretHash !== stored;', 1],
    ['if (password.reveal() == guess) open();', 1],
    ['if (token === null || secret === undefined) refuse();', 0],
    ["if (secret.length === 32 && typeof token === 'string') go();", 0],
  ])('would be noticed: %s', (text, count) => {
    expect(comparedSecrets(parseSources({ 'server/src/a.ts': text }))).toHaveLength(count);
  });
});

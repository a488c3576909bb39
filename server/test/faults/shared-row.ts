import { note } from './scale.ts';

/** A line of the table that several tests of a file fill. It is written also when one of them fails: with its number. */
export interface SharedRow {
  /** Notes what was found, and gives it back to be asserted. */
  found<T>(violations: readonly T[]): readonly T[];
  /** Notes what was found on a faulty variant, and gives it back to be asserted. */
  mutant<T>(name: string, violations: readonly T[]): readonly T[];
  write(counts: string): void;
}

/** More names than these make the table too wide to be read. */
const namedMutants = 4;

export function createSharedRow(test: number, name: string, seed: number | null = null): SharedRow {
  let violations = 0;
  const mutants: (readonly [name: string, found: number])[] = [];
  return {
    found(all) {
      violations += all.length;
      return all;
    },
    mutant(mutant, all) {
      mutants.push([mutant, all.length]);
      return all;
    },
    write: (counts) => note({ test, name, counts, violations, mutants: told(mutants), seed }),
  };
}

function told(mutants: readonly (readonly [name: string, found: number])[]): string {
  const missed = mutants.filter(([, found]) => found === 0);
  const caught = `${mutants.length - missed.length} of ${mutants.length}`;
  const names =
    mutants.length <= namedMutants
      ? mutants.map(([name, found]) => `${name}: ${found}`)
      : missed.map(([name]) => `not ${name}`);
  return [caught, ...names].join(', ');
}

import { appendFileSync } from 'node:fs';
import type { ProviderBench } from './bench.ts';

export const columns = ['open', '501', 'refused', 'lost reply', 'down', 'restart'] as const;
export type Column = (typeof columns)[number];

/** What was shown, for people to read at the end of the run. */
export interface ProviderTable {
  note(bench: ProviderBench, column: Column, fact: string): void;
  print(): void;
}

export function createProviderTable(benches: readonly ProviderBench[]): ProviderTable {
  const facts = new Map<ProviderBench, Map<Column, string>>(benches.map((bench) => [bench, new Map()]));
  return {
    note: (bench, column, fact) => void facts.get(bench)?.set(column, fact),
    print() {
      const head = ['provider', 'transport', 'peer', ...columns];
      const rows = benches.map((bench) => [
        bench.provider,
        bench.transport,
        bench.peer,
        ...columns.map((column) => facts.get(bench)?.get(column) ?? '✗'),
      ]);
      report(lined([head, ...rows]));
    },
  };
}

function lined(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(' | ')
      .trimEnd();
  const [head = [], ...rest] = rows;
  return [line(head), widths.map((width) => '-'.repeat(width)).join('-|-'), ...rest.map(line)].join('\n');
}

/** `npm test` prints this file below what vitest says; without it the text goes where the tests print. */
export function report(text: string): void {
  const file = process.env.LINTEL_TEST_NOTES;
  if (file === undefined) process.stdout.write(`\n${text}\n`);
  else appendFileSync(file, `\n${text}\n`);
}

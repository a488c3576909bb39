import type { Terminal } from './terminal.ts';
import { visible } from './visible-text.ts';

/** Columns side by side; the last one is not padded. */
export function printTable(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const shown = rows.map((row) => row.map(visible));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...shown.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ');
  terminal.print(terminal.style.bold(line(head)));
  for (const row of shown) terminal.print(line(row));
}

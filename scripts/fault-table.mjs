// The table at the end of `npm run test:faults`: a line for each test of design/reliability.md, section 3, that was run.

const columns = ['test', 'name', 'counts', 'violations', 'mutants caught', 'seed'];

/** `lines`: a JSON object each, as server/test/faults/scale.ts writes them. */
export function faultTable(lines) {
  const rows = lines
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const run = rows.map((row) => [
    row.test,
    row.name,
    row.counts,
    row.violations,
    row.mutants,
    row.seed ?? '',
  ]);
  const sorted = run.sort(([a], [b]) => a - b).map((row) => row.map(String));
  const widths = columns.map((head, column) =>
    Math.max(head.length, ...sorted.map((row) => row[column].length)),
  );
  const line = (row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join(' | ')
      .trimEnd();
  const violations = rows.reduce((sum, row) => sum + row.violations, 0);
  const rule = widths.map((width) => '-'.repeat(width)).join('-|-');
  return `\n${[line(columns), rule, ...sorted.map(line)].join('\n')}\n\n${violations} oracle violations\n`;
}

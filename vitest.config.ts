import { defineConfig } from 'vitest/config';

const everything = ['{cli,contract,script,server,web,bench,scripts}/**/*.test.ts'];
/** At full size these measure times, or keep all of the machine busy: each runs by itself, before the others. */
const alone = [
  'server/test/faults/{crash,database,herd,links,split-brain,timing}.test.ts',
  'server/test/cluster-{faults,rolling}.test.ts',
];
const notTogether = ['**/node_modules/**', ...alone];
const atFullSize = [
  { name: 'alone', include: alone, maxWorkers: 1, sequence: { groupOrder: 1 } },
  { name: 'together', include: everything, exclude: notTogether, maxWorkers: 2, sequence: { groupOrder: 2 } },
].map((test) => ({ extends: true as const, test }));

export default defineConfig({
  test: {
    globalSetup: ['server/test/support/database-setup.ts'],
    // They end what hangs, and say nothing about speed: the machine may be busy with something else.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    pool: 'forks',
    maxWorkers: 3,
    // The providers under test spend their time waiting, so all of them wait at once.
    maxConcurrency: 32,
    ...(process.env.LINTEL_TEST_FAULTS === 'full' ? { projects: atFullSize } : { include: everything }),
  },
});

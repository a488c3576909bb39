import { defineConfig } from 'vitest/config';

// The package knows nothing of the service: its tests run without the database of the others.
export default defineConfig({
  test: {
    include: ['script/**/*.test.ts'],
    globalSetup: ['script/test/support/print-cases.ts'],
    testTimeout: 30_000,
    pool: 'forks',
    maxWorkers: 2,
  },
});

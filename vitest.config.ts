import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{cli,contract,script,server,web,bench,scripts}/**/*.test.ts'],
    globalSetup: ['server/test/support/database-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 3,
    // The providers under test spend their time waiting, so all of them wait at once.
    maxConcurrency: 32,
  },
});

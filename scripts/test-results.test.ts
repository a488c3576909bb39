import { describe, expect, it } from 'vitest';
// @ts-expect-error: the scripts run before anything is installed, so they are plain JavaScript without types
import { testResults } from './test-results.mjs';

const test = (status: string, fullName: string, failureMessages: string[] = []) => ({
  status,
  fullName,
  failureMessages,
});
const report = (testResults: object[], numPassedTests: number, numPendingTests = 0) =>
  JSON.stringify({ numPassedTests, numPendingTests, testResults });

describe('the end of npm test', () => {
  it('is one line when all is well', () => {
    const all = report([{ name: 'a', status: 'passed', assertionResults: [test('passed', 'x')] }], 1);
    expect(testResults(all, 0)).toEqual({ failed: 0, text: '\n1 passed, 0 failed\n' });
  });

  it('says what was skipped', () => {
    expect(testResults(report([], 2, 3), 0).text).toBe('\n2 passed, 0 failed, 3 skipped\n');
  });

  it('names each test that failed with the first line of why, and each file that could not be loaded', () => {
    const all = report(
      [
        {
          name: 'a.test.ts',
          status: 'failed',
          assertionResults: [test('passed', 'x'), test('failed', 'a door opens', ['Error: 502\n    at y'])],
        },
        { name: 'b.test.ts', status: 'failed', message: 'no such module', assertionResults: [] },
      ],
      1,
    );
    expect(testResults(all, 1)).toEqual({
      failed: 2,
      text: '\nFAILED a.test.ts > a door opens: Error: 502\nFAILED b.test.ts: no such module\n\n1 passed, 2 failed\n',
    });
  });

  it('fails when the runner did, without a test that failed or without a report', () => {
    expect(testResults(report([], 5), 1)).toMatchObject({
      failed: 1,
      text: expect.stringMatching(/^\nFAILED an error outside of every test\n\n5 passed, 1 failed\n$/),
    });
    expect(testResults(null, 137).text).toMatch(/did not run to their end\n\n0 passed, 1 failed\n$/);
  });
});

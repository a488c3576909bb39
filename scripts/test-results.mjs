// The end of `npm test`: what failed, once more and in a line each, where it is not lost in the output, and the counts.

/** `report`: what the runner's JSON reporter wrote, null when it never came to that; `code`: how the runner ended. */
export function testResults(report, code) {
  const results = report === null ? null : JSON.parse(report);
  const failures = results === null ? ['the tests did not run to their end'] : failuresOf(results);
  if (failures.length === 0 && code !== 0) failures.push('an error outside of every test');
  const { numPassedTests: passed = 0, numPendingTests: pending = 0, numTodoTests: todo = 0 } = results ?? {};
  const counts = [`${passed} passed`, `${failures.length} failed`];
  if (pending + todo > 0) counts.push(`${pending + todo} skipped`);
  const lines = failures.map((failure) => `FAILED ${failure}\n`);
  return {
    failed: failures.length,
    text: `\n${lines.join('')}${lines.length > 0 ? '\n' : ''}${counts.join(', ')}\n`,
  };
}

/** A file that could not be loaded counts as one failure. */
function failuresOf({ testResults: files }) {
  return files.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length === 0 && status === 'failed') return [inOneLine(name, message)];
    return failed.map((test) => inOneLine(`${name} > ${test.fullName}`, test.failureMessages[0]));
  });
}

function inOneLine(name, message = '') {
  const [first = ''] = message.split('\n');
  return `${name}${first === '' ? '' : `: ${first}`}`;
}

// `npm test [-- files…]`: installs what is missing, runs the tests on the pinned Node and ends with one line that says
// how many passed and failed.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ensureInstalled, ensureWebBuilt, projectNode, root, SetupError } from './install.mjs';

const browsers = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const args = process.argv.slice(2);

process.exitCode = await main();

async function main() {
  try {
    ensureInstalled();
    ensureWebBuilt();
    const node = projectNode();
    ensureBrowser();
    return await runTests(node);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.stdout.write('0 passed, 1 failed\n');
    return 1;
  }
}

async function runTests(node) {
  const folder = mkdtempSync(join(tmpdir(), 'lintel-test-report-'));
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  try {
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const code = await run(node, [vitest, 'run', ...reporters, ...args]);
    const { passed, failed, skipped } = countTests(report, code);
    process.stdout.write(
      `\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
    );
    return failed > 0 ? code || 1 : code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A file that could not be loaded counts as one failure, and so does an error outside of every test. */
function countTests(report, code) {
  const results = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null;
  if (results === null) return { passed: 0, failed: 1, skipped: 0 };
  const brokenFiles = results.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed'),
  );
  const failed = results.numFailedTests + brokenFiles.length;
  return {
    passed: results.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: results.numPendingTests + results.numTodoTests,
  };
}

function run(command, commandArgs) {
  const bin = join(root, 'node_modules', '.bin');
  const child = spawn(command, commandArgs, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}

/** For the tests that sign in with a real browser; a run of other files does without. */
function ensureBrowser() {
  const paths = args.filter((arg) => !arg.startsWith('-'));
  const wantsBrowser = paths.length === 0 || paths.some((path) => /web|browser/.test(path));
  if (!wantsBrowser || browsers.some(isInstalled)) return;
  const canInstall = process.getuid?.() === 0 && isInstalled('apt-get');
  if (canInstall && installChromium()) return;
  process.stderr.write(
    `Chromium is missing, so the browser tests will fail. ${
      canInstall ? 'apt-get could not install it; see above.' : 'Install it: sudo apt-get install chromium'
    }\n`,
  );
}

function installChromium() {
  process.stderr.write('Installing Chromium for the browser tests (apt-get install chromium)…\n');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...aptArgs) =>
    spawnSync('apt-get', ['-qq', ...aptArgs], { stdio: ['ignore', 2, 2], env }).status === 0;
  // An index that is partly out of reach may still know the package.
  apt('update');
  return apt('install', '-y', '--no-install-recommends', 'chromium');
}

function isInstalled(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, name)));
}

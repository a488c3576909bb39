// `npm test [-- files…]`: installs what is missing, runs the tests on the pinned Node and ends with one line that says
// how many passed and failed. `--soak` lets the soak tests run for minutes instead of seconds, `--full` gives the fault
// tests (`npm run test:faults`) all their numbers.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { faultTable } from './fault-table.mjs';
import { ensureInstalled, ensureWebBuilt, projectNode, root, SetupError } from './install.mjs';
import { testResults } from './test-results.mjs';

const peers = [
  {
    packages: ['chromium'],
    programs: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    files: /web|browser/,
  },
  {
    packages: ['mosquitto', 'mosquitto-clients'],
    programs: ['mosquitto'],
    files: /providers|cluster|faults/,
  },
  { packages: ['nats-server'], programs: ['nats-server'], files: /cluster/ },
  { packages: ['knxd', 'knxd-tools'], programs: ['knxd'], files: /providers/ },
  {
    packages: ['python3-pymodbus', 'python3-serial'],
    programs: ['/usr/lib/python3/dist-packages/pymodbus/__init__.py'],
    files: /providers/,
  },
  {
    packages: ['swift-proxy', 'swift-account', 'swift-container', 'swift-object', 'memcached'],
    programs: ['swift-proxy-server'],
    files: /media/,
  },
  { packages: ['postgresql'], programs: ['pg_ctlcluster'], files: /canary/ },
];
const isSoak = process.argv.includes('--soak');
const isFull = process.argv.includes('--full');
const args = process.argv.slice(2).filter((arg) => arg !== '--soak' && arg !== '--full');

/** What waits for a minute even at its smallest runs when it is asked for (`npm run test:faults`). */
const slow = ['server/test/faults/herd.test.ts', 'server/test/cluster-{faults,rolling}.test.ts'];

process.exitCode = await main();

async function main() {
  try {
    ensureInstalled();
    ensureWebBuilt();
    const node = projectNode();
    ensurePeers();
    return await runTests(node);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.stdout.write('0 passed, 1 failed\n');
    return 1;
  }
}

async function runTests(node) {
  const folder = mkdtempSync(join(tmpdir(), 'lintel-report-'));
  const report = join(folder, 'report.json');
  const notes = join(folder, 'notes.txt');
  const faults = join(folder, 'faults.jsonl');
  const env = {
    LINTEL_TEST_NOTES: notes,
    LINTEL_TEST_FAULT_ROWS: faults,
    ...(isSoak ? { LINTEL_TEST_SOAK: '1' } : {}),
    ...(isFull ? { LINTEL_TEST_FAULTS: 'full' } : {}),
  };
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  try {
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const code = await run(node, [vitest, 'run', ...reporters, ...left(), ...args], env);
    if (existsSync(notes)) process.stdout.write(readFileSync(notes, 'utf8'));
    if (existsSync(faults)) process.stdout.write(faultTable(readFileSync(faults, 'utf8')));
    const { failed, text } = testResults(existsSync(report) ? readFileSync(report, 'utf8') : null, code);
    process.stdout.write(text);
    return failed > 0 ? code || 1 : code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function left() {
  const isEverything = args.every((arg) => arg.startsWith('-'));
  return isEverything ? slow.flatMap((files) => ['--exclude', files]) : [];
}

function run(command, commandArgs, env) {
  const bin = join(root, 'node_modules', '.bin');
  const child = spawn(command, commandArgs, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}

/** The real peers of the tests; a run of some files installs only what those may need. */
function ensurePeers() {
  const paths = args.filter((arg) => !arg.startsWith('-'));
  const wanted = peers.filter((peer) => paths.length === 0 || paths.some((path) => peer.files.test(path)));
  const missing = wanted.filter((peer) => !peer.programs.some(isInstalled));
  if (missing.length === 0) return;
  const packages = missing.flatMap((peer) => peer.packages);
  const canInstall = process.getuid?.() === 0 && isInstalled('apt-get');
  if (canInstall && install(packages)) return;
  process.stderr.write(
    `Missing: ${packages.join(' ')}. The tests that need them will fail. ${
      canInstall ? 'apt-get could not install them; see above.' : `sudo apt-get install ${packages.join(' ')}`
    }\n`,
  );
}

function install(packages) {
  process.stderr.write(`Installing for the tests (apt-get install ${packages.join(' ')})…\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...aptArgs) =>
    spawnSync('apt-get', ['-qq', ...aptArgs], { stdio: ['ignore', 2, 2], env }).status === 0;
  // An index that is partly out of reach may still know the packages.
  apt('update');
  return apt('install', '-y', '--no-install-recommends', ...packages);
}

function isInstalled(name) {
  if (name.startsWith('/')) return existsSync(name);
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return folders.some((folder) => existsSync(join(folder, name)));
}

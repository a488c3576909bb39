// What `npm start` and `npm test` do before anything else. Runs on any Node from 20 and without node_modules.
// All output goes to stderr: stdout belongs to the program that is started afterwards.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'node_modules', '.bin');
const installStamp = join(root, 'node_modules', '.lintel-installed');
const webDist = join(root, 'web', 'dist');
const webStamp = join(webDist, '.lintel-built');

/** The message is meant for the user, without a stack. */
export class SetupError extends Error {}

/** Installs when node_modules does not belong to the present package-lock.json and package.json files. */
export function ensureInstalled({ quiet = false } = {}) {
  if (readStamp(installStamp) === hashFiles(manifests())) return;
  process.stderr.write('Installing dependencies (npm install)…\n');
  // Not `npm ci`: the lock lists the binaries of some platforms only, which `npm ci` takes for damage.
  // With the development tools even under NODE_ENV=production, so that one stamp means one content.
  const flags = ['install', '--no-audit', '--no-fund', '--include=dev', '--loglevel=error'];
  // npm passes its own path on to its scripts; that npm is the one the user chose.
  const npm = process.env.npm_execpath;
  const [command, args] = npm?.endsWith('.js') ? [process.execPath, [npm, ...flags]] : ['npm', flags];
  run(command, args, { quiet, failure: 'npm install failed; what it said is above.' });
  // Hashed after the install: npm may have completed the lock.
  writeFileSync(installStamp, hashFiles(manifests()));
}

/** Builds the web pages when they exist and their sources differ from those of the last build. */
export function ensureWebBuilt({ quiet = false } = {}) {
  if (!existsSync(join(root, 'web', 'index.html'))) return;
  const sources = hashFiles([...filesBelow(join(root, 'web')), ...filesBelow(join(root, 'contract', 'src'))]);
  if (readStamp(webStamp) === sources) return;
  process.stderr.write('Building the web pages…\n');
  run(join(bin, 'vite'), ['build', 'web'], {
    quiet,
    failure: 'The web pages could not be built; see above.',
  });
  writeFileSync(webStamp, sources);
}

/** The Node that this project pins, or the present one where npm has no pinned one for the platform. */
export function projectNode() {
  const pinned = join(bin, 'node');
  if (existsSync(pinned)) return pinned;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath;
  throw new SetupError(
    `Lintel needs Node 22.18 or newer, and this is ${process.version}.
npm brings a suitable one for Linux on x64 and arm64 only; install Node 24 on this platform.`,
  );
}

function run(command, args, { quiet, failure }) {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 2, 2],
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  });
  if (result.status === 0) return;
  if (quiet) process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
  throw new SetupError(result.error ? `${failure} (${result.error.message})` : failure);
}

function manifests() {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const packages = ['.', ...workspaces].map((folder) => join(root, folder, 'package.json'));
  return [join(root, 'package-lock.json'), ...packages].filter((path) => existsSync(path));
}

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.name !== 'dist' && entry.name !== 'node_modules')
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    })
    .sort();
}

function hashFiles(paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    const content = readFileSync(path);
    hash.update(`${relative(root, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

function readStamp(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

// Runs a TypeScript file, or with --bin a tool of node_modules/.bin, on the Node version this project pins.
// npm puts node_modules/.bin first in PATH, but a shell call of this script does not; so both lead to the same Node.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, 'node_modules', '.bin');
const pinnedNode = join(bin, 'node');
const node = existsSync(pinnedNode) ? pinnedNode : process.execPath;
const [first, ...rest] = process.argv.slice(2);
const [command, args] = first === '--bin' ? [join(bin, rest[0]), rest.slice(1)] : [node, [first, ...rest]];

const result = spawnSync(command, args, {
  stdio: 'inherit',
  cwd: root,
  env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
});
process.exit(result.status ?? 1);

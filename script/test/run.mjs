// `npm test -w script [-- --full]`: the tests of this package alone; --full is the long fuzz run.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const args = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'lintel-script-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
process.env.SCRIPT_CASES_FILE = join(folder, 'cases.txt');
if (args.includes('--full')) process.env.SCRIPT_FUZZ_INPUTS = '5000000';
const config = ['--config', 'script/vitest.config.ts', ...args.filter((arg) => arg !== '--full')];
process.argv = [...process.argv.slice(0, 2), ...config];
await import('../../scripts/test.mjs');

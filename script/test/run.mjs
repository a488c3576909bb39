// `npm test -w script [-- --full]`: the tests of this package alone; --full is the long fuzz run.
const args = process.argv.slice(2);
if (args.includes('--full')) process.env.SCRIPT_FUZZ_INPUTS = '5000000';
const config = ['--config', 'script/vitest.config.ts', ...args.filter((arg) => arg !== '--full')];
process.argv = [...process.argv.slice(0, 2), ...config];
await import('../../scripts/test.mjs');

// What is installed begins here. It holds nothing that an old Node can not even read, so that one is told what it lacks:
// npm only warns, and without the sources of JSON numbers the command would quietly lose digits.
import manifest from '../package.json' with { type: 'json' };

const needed = manifest.engines.node.replace('>=', '');
const [major = 0, minor = 0] = needed.split('.').map(Number);
const [ownMajor = 0, ownMinor = 0] = process.versions.node.split('.').map(Number);

if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) {
  void import('./main.ts');
} else {
  process.stderr.write(`error: lintel needs Node ${needed} or newer; this is ${process.versions.node}\n`);
  process.exitCode = 1;
}

// `npm start [-- --json …]`: installs and builds what is missing, then runs the server on the pinned Node.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { ensureInstalled, ensureWebBuilt, projectNode, root, SetupError } from './install.mjs';

const REPEAT_MS = 1000;

try {
  ensureInstalled();
  ensureWebBuilt();
  start(projectNode());
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

function start(node) {
  const child = spawn(node, [join(root, 'server', 'src', 'main.ts'), ...process.argv.slice(2)], {
    stdio: 'inherit',
    // Halves what a start spends on reading TypeScript, from the second one on.
    env: { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'lintel-node'), ...process.env },
  });
  forwardSignals(child);
  child.once('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

// npm signals only the shell it made, which would die and leave us behind: hence `exec` in the start script, which puts
// this process in the shell's place. One request to stop may still arrive here twice (Ctrl-C: from the terminal and
// again from npm); it is passed on once. The server stays in our process group, so that killing the group gets all of
// it; so Ctrl-C reaches it directly too, and main.ts must take a signal that closely follows the first for the same request.
function forwardSignals(child) {
  const lastSent = new Map();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    process.on(signal, () => {
      const now = performance.now();
      if (now - (lastSent.get(signal) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
      lastSent.set(signal, now);
      child.kill(signal);
    });
  }
}

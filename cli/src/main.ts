import { systemClock } from './clock.ts';
import { readEnvironment } from './environment.ts';
import { exitCodes } from './exit.ts';
import { runCommand } from './program.ts';

const interrupted = new AbortController();

// The second Ctrl-C does not wait for anything.
process.on('SIGINT', () => {
  if (interrupted.signal.aborted) process.exit(exitCodes.interrupted);
  interrupted.abort();
});
process.on('SIGTERM', () => interrupted.abort());
// `lintel … | head` closes the pipe early; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.ok);
  throw error;
});

process.exitCode = await runCommand(
  {
    environment: readEnvironment(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    clock: systemClock,
    fetch,
    signal: interrupted.signal,
  },
  process.argv.slice(2),
);

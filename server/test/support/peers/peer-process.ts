import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A program the tests talk to, as a child of the test. */
export interface PeerProcess {
  /** All it has printed so far, line by line. */
  readonly lines: readonly string[];
  /** The first line that fits, now or later. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  write(text: string): void;
  /** Waits until it has ended by itself. */
  ended(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const LINE_TIMEOUT_MS = 20_000;

export function startPeerProcess(program: string, args: readonly string[]): PeerProcess {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  const take = (line: string): void => {
    lines.push(line);
    for (const watcher of watchers) watcher();
  };
  createInterface({ input: child.stdout }).on('line', take);
  createInterface({ input: child.stderr }).on('line', take);
  child.on('error', (error) => take(`could not start ${program}: ${error.message}`));
  return {
    lines,
    line: (pattern) => firstLine(program, lines, watchers, pattern),
    write: (text) => void child.stdin.write(text),
    ended: () => ended(child),
    stop: (signal = 'SIGKILL') => stop(child, signal),
  };
}

function firstLine(
  program: string,
  lines: readonly string[],
  watchers: Set<() => void>,
  pattern: RegExp,
): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      watchers.delete(look);
      reject(new Error(`${program} never printed ${pattern}; it printed:\n${lines.join('\n')}`));
    }, LINE_TIMEOUT_MS);
    const look = (): void => {
      const found = lines.map((line) => pattern.exec(line)).find((match) => match !== null);
      if (found === undefined || found === null) return;
      clearTimeout(timer);
      watchers.delete(look);
      resolve(found);
    };
    watchers.add(look);
    look();
  });
}

async function ended(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
    await once(child, 'exit');
}

async function stop(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await ended(child);
}

import { PassThrough } from 'node:stream';
import { readEnvironment } from '../../src/environment.ts';
import { runCommand } from '../../src/program.ts';
import type { World } from '../../src/world.ts';

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** What is typed or piped in. */
  readonly input?: string;
  readonly isTty?: boolean;
  readonly now?: number;
  readonly signal?: AbortSignal;
}

/** The command in this process, with streams that are read afterwards. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const { env = {}, cwd = process.cwd(), input = '', isTty = false } = options;
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => {
    const output = new PassThrough();
    output.setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
    });
    return Object.assign(output, { isTTY: isTty });
  };
  const stdin = Object.assign(new PassThrough(), { isTTY: isTty, setRawMode: () => stdin });
  stdin.end(input);
  const world: World = {
    environment: readEnvironment({ HOME: '/nonexistent', ...env }, cwd),
    stdin,
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    clock: { now: () => options.now ?? Date.now() },
    fetch,
    signal: options.signal ?? new AbortController().signal,
  };
  const code = await runCommand(world, args);
  await new Promise((resolve) => setImmediate(resolve));
  return { code, ...written };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Child {
  /** The first JSON line it printed. */
  readonly ready: Record<string, unknown>;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a program of ours in a process of its own and waits for the JSON line that says it is ready. */
export async function startChild(file: string, args: string[], env: Record<string, string>): Promise<Child> {
  const child = spawn(process.execPath, [file, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const ready = await firstJsonLine(child);
  return {
    ready,
    pid: child.pid ?? 0,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

async function firstJsonLine(child: ChildProcess): Promise<Record<string, unknown>> {
  if (child.stdout === null) throw new Error('no standard output');
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{')) return JSON.parse(line) as Record<string, unknown>;
  }
  throw new Error('the program ended before it was ready');
}

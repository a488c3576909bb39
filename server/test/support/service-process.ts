import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { repositoryRoot } from './architecture-trees.ts';

/** What `npm start -- --json` prints when it is ready. */
export interface StartLine {
  readonly url: string;
  readonly api_base: string;
  readonly api_key: string | null;
  readonly org_id: string;
  readonly admin: { readonly email: string };
  readonly sign_in_url: string | null;
  readonly demo: Readonly<Record<string, string>>;
}

export interface End {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Program {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** Rejects when the program ends before it is ready. */
  readonly ready: Promise<StartLine>;
  readonly ended: Promise<End>;
  end(signal: NodeJS.Signals): Promise<End>;
}

export interface ServiceProcess {
  readonly ready: StartLine;
  end(signal: NodeJS.Signals): Promise<End>;
}

/** The service in a process of its own, ready. */
export async function startService(env: Record<string, string>): Promise<ServiceProcess> {
  const program = runProgram(env);
  return { ready: await program.ready, end: program.end };
}

/** The real program as `npm start` runs it, without the installing before it. */
export function runProgram(env: Record<string, string>, args: readonly string[] = ['--json']): Program {
  const inherited = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    NODE_COMPILE_CACHE: join(repositoryRoot, 'node_modules', '.cache', 'lintel-node'),
  };
  const child = spawn(process.execPath, [join(repositoryRoot, 'server/src/main.ts'), ...args], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const { promise: ready, resolve, reject } = Promise.withResolvers<StartLine>();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (args.includes('--json') && stdout.endsWith('\n')) resolve(JSON.parse(stdout) as StartLine);
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }));
  void ended.then(({ code }) => reject(new Error(`the service ended with ${code}: ${stderr}`)));
  // Whoever does not wait for it learns of the failure by `ended`.
  ready.catch(() => undefined);
  return {
    child,
    ready,
    ended,
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
}

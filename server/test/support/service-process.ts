import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

export interface StartLine {
  readonly url: string;
  readonly api_base: string;
  readonly api_key: string | null;
  readonly org_id: string;
  readonly admin: { readonly email: string };
  readonly sign_in_url: string | null;
  readonly demo: Readonly<Record<string, string>>;
}

export interface Service {
  readonly process: ChildProcess;
  /** What the start printed; rejects when the process ends before it is ready. */
  readonly ready: Promise<StartLine>;
  /** Exit code and everything that was written. */
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
  /** Asks it to stop and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** The real program as `npm start -- --json` runs it, without the installing before it. */
export function startService(env: Record<string, string>, args: readonly string[] = ['--json']): Service {
  const inherited = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };
  const child = spawn(process.execPath, [join(root, 'server/src/main.ts'), ...args], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const { promise: ready, resolve, reject } = Promise.withResolvers<StartLine>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (args.includes('--json') && stdout.endsWith('\n')) resolve(JSON.parse(stdout));
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }));
  void ended.then(({ code }) => reject(new Error(`the service ended with ${code}: ${stderr}`)));
  ready.catch(() => undefined);
  return {
    process: child,
    ready,
    ended,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
}

export async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return String(port);
}

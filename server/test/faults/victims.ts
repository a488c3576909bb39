import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { repositoryRoot } from '../support/architecture-trees.ts';
import type { VictimOrder, VictimSettings } from '../support/faulty-main.ts';
import { freePort } from '../support/peers/free-port.ts';
import { scaled } from './scale.ts';

/** A node that is there to be killed. */
export interface Victim {
  readonly pid: number;
  kill(): Promise<void>;
  /** When it has ended by itself. */
  readonly ended: Promise<unknown>;
}

/** One node at a time on one port; the next ones are loaded while the last one serves. */
export interface Victims {
  readonly port: number;
  next(order?: Partial<VictimOrder>): Promise<Victim>;
  close(): Promise<void>;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

export async function createVictims(databaseUrl: string): Promise<Victims> {
  const dataDir = mkdtempSync(join(tmpdir(), 'lintel-victims-'));
  const port = await freePort();
  const children = new Set<Child>();
  const load = (): Loaded => {
    const loaded = spawnVictim({ databaseUrl, port, dataDir });
    children.add(loaded.child);
    return loaded;
  };
  const spares = Array.from({ length: scaled(1, 2) }, load);
  return {
    port,
    async next(order = {}) {
      const { child, line } = spares.shift() ?? load();
      await line('loaded');
      spares.push(load());
      child.stdin.write(`${JSON.stringify({ ending: null, mutant: null, ...order })}\n`);
      const ended = endOf(child);
      await Promise.race([line('ready'), ended]);
      if (child.exitCode !== null) throw new Error(`a node did not start: it ended with ${child.exitCode}`);
      return {
        pid: child.pid ?? 0,
        ended,
        kill: async () => {
          child.kill('SIGKILL');
          await ended;
        },
      };
    },
    async close() {
      for (const child of children) {
        const ended = endOf(child);
        child.kill('SIGKILL');
        await ended;
      }
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

interface Loaded {
  readonly child: Child;
  line(text: string): Promise<void>;
}

function spawnVictim(settings: VictimSettings): Loaded {
  const program = join(repositoryRoot, 'server/test/support/faulty-main.ts');
  const cache = join(repositoryRoot, 'node_modules', '.cache', 'lintel-node');
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: cache },
  });
  child.stdin.on('error', () => undefined);
  const seen = new Set<string>();
  const watchers = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', (text) => {
    seen.add(text);
    for (const watcher of watchers) watcher();
  });
  const line = async (text: string): Promise<void> => {
    while (!seen.has(text)) {
      await new Promise<void>((resolve) => watchers.add(resolve));
      watchers.clear();
    }
  };
  return { child, line };
}

async function endOf(child: Child): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

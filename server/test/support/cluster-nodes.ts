import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from './architecture-trees.ts';
import { type LedgerLine, readLedger } from './ledger-provider.ts';
import { freePort } from './peers/free-port.ts';

export type NodeMutant = 'no lease check' | 'no grace';

export interface NodeSettings {
  readonly name: string;
  readonly databaseUrl: string;
  readonly leaseMs: number;
  readonly port: number;
  readonly dataDir: string;
  readonly ledger: string;
  readonly mutant: NodeMutant | null;
}

export interface NodeProcess {
  readonly name: string;
  readonly port: number;
  /** Resolves with the status; 0 when the node took no request (nothing was sent), -1 when the answer got lost. */
  open(token: string, entityId: string): Promise<{ status: number; text: string }>;
  /** As a balancer asks, with a limit of half a second. */
  isReady(): Promise<boolean>;
  signal(signal: NodeJS.Signals): void;
  ended(): Promise<void>;
}

/** Nodes as processes of their own on one database, and the ledger of what their devices saw. */
export interface Nodes {
  start(name: string, options?: { mutant?: NodeMutant | null; port?: number }): Promise<NodeProcess>;
  ledger(): LedgerLine[];
  close(): Promise<void>;
}

const compileCache = join(repositoryRoot, 'node_modules', '.cache', 'lintel-node');

export function createNodes(databaseUrl: string, leaseMs: number): Nodes {
  const dir = mkdtempSync(join(tmpdir(), 'lintel-nodes-'));
  const ledger = join(dir, 'ledger.jsonl');
  const children: ChildProcess[] = [];
  return {
    async start(name, { mutant = null, port } = {}) {
      const settings: NodeSettings = {
        name,
        databaseUrl,
        leaseMs,
        port: port ?? (await freePort()),
        dataDir: join(dir, name),
        ledger,
        mutant,
      };
      const program = join(import.meta.dirname, 'cluster-node.ts');
      const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
      });
      children.push(child);
      await Promise.race([
        once(child.stdout, 'data'),
        once(child, 'exit').then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`))),
      ]);
      return nodeProcess(settings, child);
    },
    ledger: () => readLedger(ledger),
    async close() {
      for (const child of children) await end(child);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

function nodeProcess({ name, port }: NodeSettings, child: ChildProcess): NodeProcess {
  return {
    name,
    port,
    open: (token, entityId) =>
      post(port, `/api/v1/entities/${entityId}/actions/open`, { authorization: `Bearer ${token}` }),
    isReady: async () => {
      const signal = AbortSignal.timeout(500);
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal }).catch(() => null);
      await answer?.body?.cancel();
      return answer?.status === 200;
    },
    signal: (signal) => void child.kill(signal),
    ended: async () => {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/** A connection of its own for each request, as behind a proxy that does not repeat what it has passed on. */
function post(
  port: number,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    let connected = false;
    const options = { host: '127.0.0.1', port, path, method: 'POST', agent: false };
    const request = httpRequest(
      { ...options, headers: { ...headers, 'content-type': 'application/json' } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode ?? -1, text }));
        response.on('error', () => resolve({ status: -1, text }));
      },
    );
    request.on('socket', (socket) => socket.once('connect', () => (connected = true)));
    request.on('error', (error) => resolve({ status: connected ? -1 : 0, text: error.message }));
    request.end('{}');
  });
}

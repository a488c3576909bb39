import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../server/src/db/embedded-postgres.ts';
import { freePort } from '../server/test/support/peers/free-port.ts';
import { startChild } from './child.ts';
import { httpLoad } from './http-load.ts';
import { openRequests, type Printed, prepareOrgs } from './open-setup.ts';

const connections = 4;
const orgCount = 2;
const warmUpMs = 1_500;
const measureMs = 5_000;
const wantedP99Ms = 50;
const main = join(import.meta.dirname, '..', 'server', 'src', 'main.ts');

/** Uses up every operation it has, and is sent again as soon as it was stopped for that. */
const burning = 'let x = 0; loop { x += 1; }';

/** Opens through HTTP while scripts burn 200,000 operations each, one after the other: they must not delay a door. */
export async function benchScriptDoors(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'lintel-bench-'));
  chmodSync(dataDir, 0o755);
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const port = await freePort();
  const service = await startChild(main, ['--json'], {
    DATABASE_URL: postgres.ownerUrl,
    LINTEL_DATA_DIR: dataDir,
    PORT: String(port),
    HOST: '127.0.0.1',
  });
  try {
    const printed = service.ready as unknown as Printed;
    const orgs = await prepareOrgs(printed, orgCount);
    const requests = openRequests(port, orgs);
    const request = (n: number) => requests[n % requests.length] ?? '';
    print(['scripts', 'opens/s', 'p50 ms', 'p99 ms', 'failed', 'scripts/s']);
    for (const scripts of [0, 1, 2 * orgCount]) {
      const burners = startBurning(
        printed,
        orgs.map(({ id }) => id),
        scripts,
      );
      const load = { host: '127.0.0.1', port, connections, warmUpMs, measureMs, request };
      const { perSecond, p50Ms, p99Ms, failures } = await httpLoad(load);
      const burnt = (await burners.stop()) / ((warmUpMs + measureMs) / 1000);
      const figures = [perSecond.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2), failures, burnt.toFixed(1)];
      print([
        scripts,
        ...figures,
        p99Ms <= wantedP99Ms ? `p99 ≤ ${wantedP99Ms} ms` : `p99 above ${wantedP99Ms} ms`,
      ]);
    }
  } finally {
    await service.stop();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function startBurning(printed: Printed, orgIds: readonly string[], scripts: number) {
  let isOver = false;
  let count = 0;
  const burn = async (orgId: string): Promise<void> => {
    while (!isOver) {
      await sendScript(printed, orgId);
      count += 1;
    }
  };
  const burners = Array.from({ length: scripts }, (_, n) => burn(orgIds[n % orgIds.length] ?? ''));
  return {
    stop: async () => {
      isOver = true;
      await Promise.all(burners);
      return count;
    },
  };
}

async function sendScript({ api_base, api_key }: Printed, orgId: string): Promise<void> {
  const answer = await fetch(`${api_base}/scripting/execute`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'x-org': orgId, 'content-type': 'application/json' },
    body: JSON.stringify({ script: burning }),
  });
  const { message } = (await answer.json()) as { message?: string };
  if (!message?.startsWith('Too many operations')) throw new Error(`the script ended otherwise: ${message}`);
}

const print = (cells: readonly (string | number)[]): void =>
  void process.stdout.write(`${cells.map((cell) => String(cell).padEnd(10)).join('')}\n`);

import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@lintel/contract/client';
import { startEmbeddedPostgres } from '../server/src/db/embedded-postgres.ts';
import { freePort } from '../server/test/support/service-process.ts';
import { type Child, startChild } from './child.ts';
import { cpuMsOf } from './cpu-time.ts';
import { httpLoad, type LoadResult, postRequest } from './http-load.ts';
import { sqlLoad } from './same-sql.ts';

const root = join(import.meta.dirname, '..');
const warmUpMs = 1_500;
const measureMs = 5_000;

interface Setup {
  readonly service: Child;
  readonly bare: Child;
  readonly databaseUrl: string;
  readonly postmasterPid: number;
  readonly port: number;
  readonly token: string;
  readonly orgId: string;
  readonly doors: readonly string[];
}

/**
 * Opens through HTTP with a key scoped to the role and the doors, beside what bounds it in the same run: the framework
 * without a database, and the same SQL without the service. Read the ratios; the machine is shared.
 */
export async function benchOpen(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'lintel-bench-'));
  chmodSync(dataDir, 0o755);
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const setup = await prepare(dataDir, postgres.ownerUrl);
  try {
    print(['connections', 'what', 'per s', 'p50 ms', 'p99 ms', 'failed', 'CPU ms each (service + database)']);
    for (const connections of [1, 16, 32, 64]) await compare(setup, connections);
  } finally {
    await setup.service.stop();
    await setup.bare.stop();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function prepare(dataDir: string, databaseUrl: string): Promise<Setup> {
  const port = await freePort();
  const service = await startChild(join(root, 'server', 'src', 'main.ts'), ['--json'], {
    DATABASE_URL: databaseUrl,
    LINTEL_DATA_DIR: dataDir,
    PORT: String(port),
    HOST: '127.0.0.1',
  });
  const ready = service.ready as unknown as {
    api_base: string;
    api_key: string;
    org_id: string;
    demo: Record<string, string>;
  };
  const doors = ['front_door', 'side_door', 'gate', 'garage'].map((name) => ready.demo[name] ?? '');
  const api = createClient({ baseUrl: ready.api_base, token: ready.api_key });
  const scope = { scoped_roles: ['entities:set_state'], scoped_entity_ids: doors };
  const { token } = await api('create_api_key', { body: { name: 'bench', expires_in: '1h', ...scope } });
  const postmasterPid = Number(
    readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0],
  );
  const bare = await startChild(join(import.meta.dirname, 'bare-fastify.ts'), [], {});
  return { service, bare, databaseUrl, postmasterPid, port, token, orgId: ready.org_id, doors };
}

async function compare(setup: Setup, connections: number): Promise<void> {
  const load = { host: '127.0.0.1', connections, warmUpMs, measureMs };
  const barePort = Number(setup.bare.ready.port);
  const bareRequest = postRequest(barePort, '/open', {}, '{}');
  const bare = await httpLoad({ ...load, port: barePort, request: () => bareRequest });
  const target = { url: setup.databaseUrl, orgId: setup.orgId, doors: setup.doors };
  const sql = { ...(await sqlLoad(target, connections, warmUpMs, measureMs)), failures: 0 };

  const requests = setup.doors.map((door) =>
    postRequest(
      setup.port,
      `/api/v1/entities/${door}/actions/switchable.open`,
      { authorization: `Bearer ${setup.token}` },
      '{}',
    ),
  );
  const before = cpuOf(setup);
  const opens = await httpLoad({
    ...load,
    port: setup.port,
    request: (n) => requests[n % requests.length] ?? '',
  });
  const after = cpuOf(setup);
  const count = (opens.perSecond * (measureMs + warmUpMs)) / 1000;
  const each = `${((after.service - before.service) / count).toFixed(2)} + ${((after.database - before.database) / count).toFixed(2)}`;

  row(connections, 'bare Fastify POST', bare);
  row(connections, 'the same SQL alone', sql);
  row(connections, 'open', opens, each);
  print([
    '',
    `open / SQL alone = ${(opens.perSecond / sql.perSecond).toFixed(2)}, open / bare = ${(opens.perSecond / bare.perSecond).toFixed(2)}`,
  ]);
}

function cpuOf(setup: Setup): { service: number; database: number } {
  return { service: cpuMsOf(setup.service.pid), database: cpuMsOf(setup.postmasterPid) };
}

function row(connections: number, what: string, result: LoadResult, extra = ''): void {
  const { perSecond, p50Ms, p99Ms, failures } = result;
  print([
    String(connections),
    what,
    perSecond.toFixed(0),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    String(failures),
    extra,
  ]);
}

const widths = [12, 20, 8, 8, 8, 8, 0];

function print(cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')}\n`);
}

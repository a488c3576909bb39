import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../server/src/db/embedded-postgres.ts';
import { freePort } from '../server/test/support/peers/free-port.ts';
import { type Child, startChild } from './child.ts';
import { cpuMsOf } from './cpu-time.ts';
import { httpLoad, type LoadResult, postRequest } from './http-load.ts';
import { type BenchOrg, limitOpens, openRequests, type Printed, prepareOrgs } from './open-setup.ts';
import { pgbenchRate } from './pgbench.ts';

const root = join(import.meta.dirname, '..');
const warmUpMs = 1_500;
const measureMs = 5_000;
const orgCount = 50;

interface Setup {
  readonly dataDir: string;
  readonly service: Child;
  readonly bare: Child;
  readonly databaseUrl: string;
  readonly postmasterPid: number;
  readonly port: number;
  readonly orgs: readonly BenchOrg[];
}

/**
 * Opens through HTTP in 50 organizations with 20 policies, limits and a scoped key each, and in a single one, beside
 * what bounds it in the same run: the framework without a database, and the same two statements by pgbench. Read the
 * ratios; the machine is shared.
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
  const orgs = await prepareOrgs(service.ready as unknown as Printed, orgCount);
  await limitOpens(databaseUrl, orgs);
  const postmasterPid = Number(
    readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0],
  );
  const bare = await startChild(join(import.meta.dirname, 'bare-fastify.ts'), [], {});
  return { dataDir, service, bare, databaseUrl, postmasterPid, port, orgs };
}

async function compare(setup: Setup, connections: number): Promise<void> {
  const barePort = Number(setup.bare.ready.port);
  const bareRequest = postRequest(barePort, '/open', {}, '{}');
  const bare = await load(barePort, connections, [bareRequest]);
  row(connections, 'bare Fastify POST', bare);
  const { databaseUrl: url, dataDir: folder } = setup;
  const alone = { url, folder, connections, seconds: measureMs / 1000 };
  const sql = await pgbenchRate({ ...alone, orgs: setup.orgs });
  const hotSql = await pgbenchRate({ ...alone, orgs: setup.orgs.slice(0, 1) });
  print([String(connections), 'pgbench, same SQL', sql?.toFixed(0) ?? 'no pgbench']);
  print([String(connections), 'the same, one org', hotSql?.toFixed(0) ?? 'no pgbench']);

  const opens = await measuredOpens(setup, connections, `opens, ${orgCount} orgs`, setup.orgs);
  const hot = await measuredOpens(setup, connections, 'opens, one org', setup.orgs.slice(0, 1));
  const ratio = (a: number, b: number | null) => (b === null ? '–' : (a / b).toFixed(2));
  print([
    '',
    `opens / SQL = ${ratio(opens.perSecond, sql)}, one org / SQL of one org = ${ratio(hot.perSecond, hotSql)}, one org / ${orgCount} orgs = ${ratio(hot.perSecond, opens.perSecond)}, opens / bare = ${ratio(opens.perSecond, bare.perSecond)}`,
  ]);
}

async function measuredOpens(
  setup: Setup,
  connections: number,
  what: string,
  orgs: readonly BenchOrg[],
): Promise<LoadResult> {
  const before = cpuOf(setup);
  const opens = await load(setup.port, connections, openRequests(setup.port, orgs));
  const after = cpuOf(setup);
  const count = (opens.perSecond * (measureMs + warmUpMs)) / 1000;
  const each = [after.service - before.service, after.database - before.database];
  row(connections, what, opens, each.map((ms) => (ms / count).toFixed(2)).join(' + '));
  return opens;
}

function load(port: number, connections: number, requests: readonly string[]): Promise<LoadResult> {
  return httpLoad({
    host: '127.0.0.1',
    port,
    connections,
    warmUpMs,
    measureMs,
    request: (n) => requests[n % requests.length] ?? '',
  });
}

function cpuOf(setup: Setup): { service: number; database: number } {
  return { service: cpuMsOf(setup.service.pid), database: cpuMsOf(setup.postmasterPid) };
}

function row(connections: number, what: string, result: LoadResult, extra = ''): void {
  const { perSecond, p50Ms, p99Ms, failures } = result;
  const figures = [perSecond.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2), String(failures)];
  print([String(connections), what, ...figures, extra]);
}

const widths = [12, 20, 8, 8, 8, 8, 0];

function print(cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ')}\n`);
}

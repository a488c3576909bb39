import { execFile } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { BenchOrg } from './open-setup.ts';

const run = promisify(execFile);

export interface PgbenchOptions {
  readonly url: string;
  readonly orgs: readonly BenchOrg[];
  readonly connections: number;
  readonly seconds: number;
  readonly folder: string;
}

/** Opens a second that PostgreSQL alone allows: pgbench calls the same two statements, one open in each call. */
export async function pgbenchRate(options: PgbenchOptions): Promise<number | null> {
  const program = findPgbench();
  if (program === null) return null;
  const scripts = await writeScripts(options);
  const { stdout } = await run(
    program,
    [
      ...['--no-vacuum', '--protocol=prepared', `--client=${options.connections}`, '--jobs=1'],
      ...[`--time=${options.seconds}`, ...scripts.map((file) => `--file=${file}`), options.url],
    ],
    { env: { ...process.env, PGOPTIONS: '-c role=lintel_app' } },
  );
  return Number(/tps = ([\d.]+)/.exec(stdout)?.[1] ?? Number.NaN);
}

/** From Debian's postgresql package; any version of it speaks to any server. */
function findPgbench(): string | null {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
  const programs = versions.map((version) => `/usr/lib/postgresql/${version}/bin/pgbench`);
  return programs.find((program) => existsSync(program)) ?? null;
}

interface Door {
  readonly entity_id: string;
  readonly device_id: string;
  readonly integration_id: string;
  readonly org_id: string;
  readonly epoch: string;
}

/** One for each organization; pgbench takes them at random. */
async function writeScripts({ url, orgs, folder }: PgbenchOptions): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Door>(
    `select e.id as entity_id, d.id as device_id, d.integration_id, e.org_id, p.epoch from entities e
     join devices d on d.id = e.device_id join org_epochs p on p.org_id = e.org_id where e.id = any ($1)`,
    [orgs.map(({ doors }) => doors[0])],
  );
  await client.end();
  return rows.map((door) => {
    const file = join(folder, `${door.org_id}.pgbench.sql`);
    writeFileSync(
      file,
      `\\set id random(1, 9000000000000000000)\n\\set stripe random(0, 15)\n${opening(door)}\n`,
    );
    return file;
  });
}

/** A JSON text in which the id is put by the database. No value stands right after its colon: pgbench would take it for a variable. */
function opening(door: Door): string {
  const text = (row: Record<string, unknown>) =>
    `replace('${JSON.stringify([row]).replaceAll('":', '": ')}', '@ID', 'B' || (:id)::text)::jsonb`;
  const intent = {
    id: '@ID',
    org_id: door.org_id,
    epoch: Number(door.epoch),
    entity_id: door.entity_id,
    device_id: door.device_id,
    integration_id: door.integration_id,
    action_id: 'switchable.open',
    principal_kind: 'api_key',
    principal_id: 'bench',
    actor: { kind: 'api_key', userId: 'u', apiKeyId: 'k' },
    source: 'api',
    details: { resource_name: 'door' },
    correlation_id: '@ID',
    fingerprint: '00'.repeat(32),
    deadline_ms: 5000,
    counters: ['door_opens', 'voice_invocations'],
    plain: true,
  };
  const finished = {
    org_id: door.org_id,
    id: '@ID',
    state: 'succeeded',
    result: { ok: true },
    release_key: false,
    event_id: '@ID',
    outcome: 'succeeded',
    details: { latency_ms: 1 },
    status: 'open',
    status_source: 'virtual_demo',
    place: 0,
  };
  return [
    `select * from open_intents(${text(intent)}, (:stripe)::int);`,
    `select * from finish_intents(${text(finished)});`,
  ].join('\n');
}

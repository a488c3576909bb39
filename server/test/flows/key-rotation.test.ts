// Both rotations by the real command, beside a real service that is read from all the while. The command is killed in
// the middle: a lock held by the test keeps it there.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiClient, createClient } from '@lintel/contract/client';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { repositoryRoot } from '../support/architecture-trees.ts';
import { freePort } from '../support/peers/free-port.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';
import { makeTestDir } from '../support/test-cluster.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

interface Report {
  readonly rewrapped?: number;
  readonly reencrypted?: number;
  readonly dropped?: number;
  readonly current_kid: string;
  readonly data_keys_by_kid: Readonly<Record<string, number>>;
  readonly readable: number;
  readonly unreadable: readonly unknown[];
}

interface Place {
  readonly orgId: string;
  readonly id: string;
}

let database: TestDatabase;
let dataDir: string;
let env: Record<string, string>;
let service: ServiceProcess;
let api: ApiClient;
const places: Place[] = [];
const secretOf = ({ id }: Place) => `secret of ${id}`;

beforeAll(async () => {
  database = await createTestDatabase(inject('ownerUrl'), 'template0');
  dataDir = makeTestDir();
  env = {
    LINTEL_DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    DATABASE_CONNECTIONS: '8',
    PORT: String(await freePort()),
    HOST: '127.0.0.1',
    LINTEL_DEMO: 'false',
  };
  service = await startService(env);
  api = createClient({ baseUrl: service.ready.api_base, token: service.ready.api_key ?? '' });
  for (let org = 0; org < 4; org += 1) await addOrg(org === 0 ? 12 : 3);
});
afterAll(async () => {
  await service.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
  await database.drop();
});

async function addOrg(integrations: number): Promise<void> {
  const { id: orgId } = await api('create_org', { body: { name: 'Rotating' } });
  for (let each = 0; each < integrations; each += 1) {
    const body = {
      org_id: orgId,
      provider_type: 'mqtt',
      enabled: false,
      config: { broker_host: '127.0.0.1', broker_port: 9 },
    };
    const { id } = await api('create_integration', { body, headers: { 'x-org': orgId } });
    await api('update_integration', {
      params: { id },
      body: { secrets: { password: secretOf({ orgId, id }) } },
      headers: { 'x-org': orgId },
    });
    places.push({ orgId, id });
  }
}

function startKeys(...args: readonly string[]) {
  const child = spawn(process.execPath, [join(repositoryRoot, 'server/src/keys.ts'), ...args, '--json'], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  return { ended, kill: () => child.kill('SIGKILL') };
}

async function keys(...args: readonly string[]): Promise<Report> {
  const { code, output } = await startKeys(...args).ended;
  expect(code, output).toBe(0);
  return JSON.parse(output) as Report;
}

/** Everything over and over, several at a time; every answer that is not the secret counts as a failure. */
function readAllTheTime(client: ApiClient, readers = 4) {
  let isOver = false;
  let reads = 0;
  const failures: string[] = [];
  const read = async (place: Place) => {
    const { orgId, id } = place;
    const answer = await client('get_integration_secrets', {
      params: { id },
      headers: { 'x-org': orgId },
    }).catch(String);
    const found = typeof answer === 'string' ? answer : answer.password;
    if (found === secretOf(place)) reads += 1;
    else failures.push(`${id}: ${found}`);
  };
  const reader = async (_: unknown, offset: number) => {
    for (let turn = offset; !isOver; turn += 1) {
      const place = places[turn % places.length];
      if (place !== undefined) await read(place);
    }
  };
  const reading = Array.from({ length: readers }, reader);
  return {
    reads: () => reads,
    failures: () => failures.length,
    stop: async () => {
      isOver = true;
      await Promise.all(reading);
      return { reads, failures };
    },
  };
}

/** Runs the command into a lock on the row, kills it there, and lets the row go. */
async function killInTheMiddle(lock: string, args: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('begin');
  expect((await client.query(lock)).rowCount).toBe(1);
  const command = startKeys(...args);
  await vi.waitFor(
    async () => {
      const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      expect(await database.query(waiting)).toHaveLength(1);
    },
    { timeout: 20_000 },
  );
  command.kill();
  expect((await command.ended).code).toBeNull();
  await client.query('rollback');
  await client.end();
}

/** What the log of an organization says of them, in order. */
async function rotationsIn(orgId: string): Promise<unknown[]> {
  const rows = await database.query<{ details: unknown }>(
    `select details from audit_events where org_id = $1 and event_type = 'secrets.key_rotated' order by id`,
    [orgId],
  );
  return rows.map(({ details }) => details);
}

const kekFile = () => join(dataDir, 'keys', 'kek');
const numbers = (report: Report) => Object.values(report.data_keys_by_kid).toSorted();

describe('beside a service that is read from', () => {
  it('the key encryption key is rotated, killed and resumed; no read fails and the old key can go', async () => {
    const before = await keys('verify');
    expect([numbers(before), before.readable]).toEqual([[4], places.length]);
    const load = readAllTheTime(api);
    await killInTheMiddle(
      'select from secrets.data_keys where org_id = (select org_id from secrets.data_keys order by org_id offset 2 limit 1) for update',
      ['rotate-kek', '--new', '--batch', '1'],
    );
    const half = await keys('verify');
    expect([numbers(half), half.unreadable]).toEqual([[2, 2], []]);
    const readsBefore = load.reads();
    const whole = await keys('rotate-kek');
    expect(whole.rewrapped).toBe(2);
    await vi.waitFor(() => expect(load.reads()).toBeGreaterThan(readsBefore + 2 * places.length), {
      timeout: 20_000,
    });
    const { reads, failures } = await load.stop();
    expect(failures).toEqual([]);
    expect(reads).toBeGreaterThan(100);
    expect(whole.data_keys_by_kid).toEqual({ [before.current_kid]: 0, [whole.current_kid]: 4 });
    const [event, ...more] = await rotationsIn(service.ready.org_id);
    expect(event).toEqual({ level: 'key_encryption_key', kid: whole.current_kid, rewrapped: 2 });
    expect(more).toEqual([]);

    expect((await keys('drop-unused')).dropped).toBe(1);
    expect((await readFile(kekFile(), 'utf8')).trim().split('\n')).toHaveLength(1);
    // A new start knows the new key alone.
    await service.end('SIGTERM');
    service = await startService(env);
    const again = readAllTheTime(api);
    await vi.waitFor(() => expect(again.reads()).toBeGreaterThan(places.length), { timeout: 20_000 });
    expect((await again.stop()).failures).toEqual([]);
  });

  it('data keys are rotated, killed and resumed; no read fails and nothing is left under the old ones', async () => {
    const [busy = ''] = places.map(({ orgId }) => orgId);
    const keyIds = async () =>
      (
        await database.query<{ id: string }>('select id from secrets.data_keys where org_id = $1', [busy])
      ).map(({ id }) => id);
    const [oldKey = ''] = await keyIds();
    const load = readAllTheTime(api);
    await killInTheMiddle(
      `select from secrets.secret_values where org_id = '${busy}' and integration_id =
        (select integration_id from secrets.secret_values where org_id = '${busy}' order by 1 offset 5 limit 1) for update`,
      ['rotate-dek', '--org', busy, '--batch', '1'],
    );
    expect(await keyIds()).toHaveLength(2);
    const resumed = await keys('rotate-dek', '--org', busy);
    expect(resumed.reencrypted).toBe(7);
    expect(await keyIds()).not.toContain(oldKey);
    const all = await keys('rotate-dek');
    expect([all.reencrypted, all.readable, all.unreadable]).toEqual([places.length, places.length, []]);
    expect(await rotationsIn(busy)).toEqual([
      { level: 'data_key', reencrypted: 7 },
      { level: 'data_key', reencrypted: 12 },
    ]);
    const { reads, failures } = await load.stop();
    expect(failures).toEqual([]);
    expect(reads).toBeGreaterThan(100);
  });

  it('a node that can not learn of the new key loses reads, and this test sees it', async () => {
    const deaf = await startService({
      ...env,
      PORT: String(await freePort()),
      LINTEL_KEK: (await readFile(kekFile(), 'utf8')).trim(),
    });
    const client = createClient({ baseUrl: deaf.ready.api_base, token: service.ready.api_key ?? '' });
    try {
      const load = readAllTheTime(client, 1);
      await keys('rotate-kek', '--new');
      await vi.waitFor(() => expect(load.failures()).toBeGreaterThan(0), { timeout: 10_000 });
      await load.stop();
    } finally {
      await deaf.end('SIGTERM');
    }
  });
});

describe('the command', () => {
  it('says what it can not do', async () => {
    const usage = await startKeys('rotate').ended;
    expect([usage.code, usage.output]).toEqual([2, expect.stringContaining('Usage: npm run keys')]);
    const foreign = await startKeys('verify', '--org', 'x').ended;
    expect(foreign.code).toBe(2);
  });

  it('ends with 1 where a secret was moved to another place', async () => {
    await database.query(
      `update secrets.secret_values v set ciphertext = o.ciphertext, data_key_id = o.data_key_id
       from secrets.secret_values o
       where v.org_id = o.org_id and v.org_id = $1 and v.integration_id = $2 and o.integration_id = $3`,
      [places[0]?.orgId, places[0]?.id, places[1]?.id],
    );
    const { code, output } = await startKeys('verify').ended;
    expect(code, output).toBe(1);
    expect((JSON.parse(output) as Report).unreadable).toEqual([
      { org_id: places[0]?.orgId, integration_id: places[0]?.id, field: 'password' },
    ]);
  });

  it('does not start a database where there are no keys', async () => {
    const empty = makeTestDir();
    await writeFile(join(empty, 'note'), '');
    const kept = env;
    env = { LINTEL_DATA_DIR: empty };
    const { code, output } = await startKeys('verify').ended;
    env = kept;
    await rm(empty, { recursive: true });
    expect([code, output]).toEqual([1, expect.stringContaining('There are no keys yet')]);
  });
});

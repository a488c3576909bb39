import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeTestDir } from '../../test/support/test-cluster.ts';
import { EmbeddedPostgresError } from './embedded-error.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
import { findPostmaster, stopPostmaster } from './embedded-postmaster.ts';

const isRoot = process.getuid?.() === 0;
const settings = { fsync: 'off' };
const log = () => undefined;

let dataDir: string;
let clusterDir: string;
const started: EmbeddedPostgres[] = [];
const children: ChildProcess[] = [];

beforeEach(() => {
  dataDir = makeTestDir();
  clusterDir = join(dataDir, 'postgres');
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const postgres of started.splice(0)) await postgres.stop();
  await stopPostmaster(clusterDir);
  chmodSync(dataDir, 0o755);
  rmSync(dataDir, { recursive: true });
});

async function start(): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, log, settings });
  started.push(postgres);
  return postgres;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Another process that owns the database, until it is killed. Rejects with what it printed when it is refused. */
async function startInChild(): Promise<{ child: ChildProcess; ownerUrl: string }> {
  const module = JSON.stringify(pathToFileURL(join(import.meta.dirname, 'embedded-postgres.ts')).href);
  const options = JSON.stringify({ dataDir, settings });
  const program = `import { startEmbeddedPostgres } from ${module};
    const { ownerUrl } = await startEmbeddedPostgres({ ...${options}, log: () => {} });
    console.log(ownerUrl);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const complaint = text(child.stderr);
  for await (const line of createInterface({ input: child.stdout })) return { child, ownerUrl: line };
  throw new Error(await complaint);
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

describe('a data directory of its own', () => {
  it('serves a UTF-8 database lintel whose order no system locale decides', async () => {
    const { ownerUrl, adopted } = await start();
    expect(adopted).toBe(false);
    expect(await query(ownerUrl, 'SELECT current_database() AS name')).toEqual([{ name: 'lintel' }]);
    const locale = await query(
      ownerUrl,
      `SELECT pg_encoding_to_char(encoding) AS encoding, datlocprovider, datlocale
         FROM pg_database WHERE datname = current_database()`,
    );
    expect(locale).toEqual([{ encoding: 'UTF8', datlocprovider: 'b', datlocale: 'C.UTF-8' }]);
  });

  it('keeps the password in a file that only its owner can read, and lets nobody in without it', async () => {
    const { ownerUrl } = await start();
    const file = join(dataDir, 'postgres-password');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(new URL(ownerUrl).password).toBe(readFileSync(file, 'utf8'));
    const wrong = new URL(ownerUrl);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'SELECT')).rejects.toMatchObject({ code: '28P01' });
  });

  it('is durable unless told otherwise', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir, log });
    started.push(postgres);
    const rows = await query(
      postgres.ownerUrl,
      `SELECT name, setting FROM pg_settings
        WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name`,
    );
    expect(rows).toEqual([
      { name: 'fsync', setting: 'on' },
      { name: 'full_page_writes', setting: 'on' },
      { name: 'synchronous_commit', setting: 'on' },
    ]);
  });

  it('stops without leaving a process, and a second start finds the data again', async () => {
    const first = await start();
    await query(first.ownerUrl, "CREATE TABLE kept AS SELECT 'yes' AS answer");
    await first.stop();
    expect(findPostmaster(clusterDir)).toBeNull();
    expect(existsSync(join(clusterDir, 'postmaster.pid'))).toBe(false);
    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await query(second.ownerUrl, 'SELECT answer FROM kept')).toEqual([{ answer: 'yes' }]);
  });

  it('initialises anew after a first start that was killed in the middle', async () => {
    mkdirSync(join(dataDir, 'postgres-init-999999999-abandoned', 'cluster'), { recursive: true });
    const { ownerUrl } = await start();
    expect(await query(ownerUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(existsSync(join(dataDir, 'postgres-init-999999999-abandoned'))).toBe(false);
  });

  it('refuses a directory that holds something else, and leaves it as it is', async () => {
    mkdirSync(clusterDir);
    writeFileSync(join(clusterDir, 'notes.txt'), 'mine');
    await expect(start()).rejects.toThrow(/holds no PostgreSQL data/);
    expect(readFileSync(join(clusterDir, 'notes.txt'), 'utf8')).toBe('mine');
  });

  it('names the password file when it does not open the database', async () => {
    await (await start()).stop();
    writeFileSync(join(dataDir, 'postgres-password'), 'wrong');
    await expect(start()).rejects.toThrow(/postgres-password does not open the database/);
    expect(findPostmaster(clusterDir)).toBeNull();
  });
});

describe('after a crash', () => {
  it('takes over the server that a killed owner left running', async () => {
    const { child, ownerUrl } = await startInChild();
    await query(ownerUrl, "CREATE TABLE kept AS SELECT 'yes' AS answer");
    await kill(child);
    const before = findPostmaster(clusterDir);
    const next = await start();
    expect(next.adopted).toBe(true);
    expect(findPostmaster(clusterDir)?.pid).toBe(before?.pid);
    expect(await query(next.ownerUrl, 'SELECT answer FROM kept')).toEqual([{ answer: 'yes' }]);
    await next.stop();
    expect(findPostmaster(clusterDir)).toBeNull();
  });

  it('recovers when owner and server were killed together', async () => {
    const { child, ownerUrl } = await startInChild();
    await query(ownerUrl, "CREATE TABLE kept AS SELECT 'yes' AS answer");
    const server = findPostmaster(clusterDir);
    if (!server) throw new Error('no server');
    process.kill(server.pid, 'SIGKILL');
    await kill(child);
    const next = await start();
    expect(next.adopted).toBe(false);
    expect(await query(next.ownerUrl, 'SELECT answer FROM kept')).toEqual([{ answer: 'yes' }]);
  });

  it.each([
    [
      'names an unrelated live process',
      () => `${process.pid}\n${clusterDir}\n1\n5432\n\n127.0.0.1\n\nready\n`,
    ],
    ['names a dead process', () => `999999999\n${clusterDir}\n1\n5432\n\n127.0.0.1\n\nready\n`],
    ['is empty', () => ''],
  ])('starts although a left-over postmaster.pid %s', async (_case, content) => {
    await (await start()).stop();
    writeFileSync(join(clusterDir, 'postmaster.pid'), content());
    const next = await start();
    expect(next.adopted).toBe(false);
    expect(await query(next.ownerUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('exclusive ownership', () => {
  it('refuses a second instance, names the first, and does not disturb it', async () => {
    const { child, ownerUrl } = await startInChild();
    const refused = await start().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(EmbeddedPostgresError);
    expect(String(refused)).toContain(`Another Lintel is already running on ${dataDir}`);
    expect(String(refused)).toContain(`process ${child.pid}`);
    expect(await query(ownerUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('lets exactly one of two first starts at the same moment have the data', async () => {
    const outcomes = await Promise.allSettled([startInChild(), startInChild()]);
    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
    const refused = outcomes.find((outcome) => outcome.status === 'rejected');
    expect(String(refused?.reason)).toContain('Another Lintel is already running');
  });

  it('takes the lock again after the server has ended every session', async () => {
    const messages: string[] = [];
    const lost: string[] = [];
    const postgres = await startEmbeddedPostgres({
      dataDir,
      settings,
      log: (message) => messages.push(message),
      onLost: (reason) => lost.push(reason),
    });
    started.push(postgres);
    await query(
      postgres.ownerUrl,
      'SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = $$advisory$$',
    );
    await expect.poll(() => messages.join('\n'), { timeout: 20_000 }).toContain('taken again');
    await expect(start()).rejects.toThrow(/already running/);
    expect(lost).toEqual([]);
  });

  it('tells its owner when the server has died, and then leaves the next one alone', async () => {
    const lost: string[] = [];
    const first = await startEmbeddedPostgres({
      dataDir,
      settings,
      log,
      onLost: (reason) => lost.push(reason),
    });
    const server = findPostmaster(clusterDir);
    if (!server) throw new Error('no server');
    process.kill(server.pid, 'SIGKILL');
    await expect.poll(() => lost, { timeout: 20_000 }).toHaveLength(1);
    const second = await start();
    await first.stop();
    expect(await query(second.ownerUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe.runIf(isRoot)('as root', () => {
  it('runs the server as a user without privileges', async () => {
    await start();
    const server = findPostmaster(clusterDir);
    expect(statSync(`/proc/${server?.pid}`).uid).not.toBe(0);
    expect(statSync(clusterDir).uid).not.toBe(0);
    expect(statSync(dataDir).uid).toBe(0);
  });

  it('says what to do when the data is out of reach of that user', async () => {
    chmodSync(dataDir, 0o700);
    const hidden = join(dataDir, 'lintel');
    const refused = startEmbeddedPostgres({ dataDir: hidden, log, settings });
    await expect(refused).rejects.toThrow(EmbeddedPostgresError);
    await expect(refused).rejects.toThrow(`may not enter ${dataDir}`);
    await expect(refused).rejects.toThrow('LINTEL_DATA_DIR=/var/lib/lintel');
    await expect(refused).rejects.toThrow('DATABASE_URL=');
  });

  it('gives a cluster that root owns, as after a restore, to the database user', async () => {
    await (await start()).stop();
    execFileSync('chown', ['-R', 'root:root', clusterDir]);
    const { ownerUrl } = await start();
    expect(await query(ownerUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

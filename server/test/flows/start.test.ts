// The program itself, as an operator meets it: started, stopped, started again, started wrongly.

import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { generateToken } from '../../src/kernel/secret.ts';
import { freePort } from '../support/peers/free-port.ts';
import { type Program, runProgram, type StartLine } from '../support/service-process.ts';
import { makeTestDir } from '../support/test-cluster.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const folders: string[] = [];
const programs: Program[] = [];

function newDataDir(): string {
  const folder = makeTestDir();
  folders.push(folder);
  return join(folder, 'data');
}

function start(env: Record<string, string>, args?: readonly string[]): Program {
  const program = runProgram(env, args);
  programs.push(program);
  return program;
}

const aPort = async (): Promise<string> => String(await freePort());

afterEach(async () => {
  for (const program of programs.splice(0)) await program.end('SIGTERM');
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function call(line: StartLine, token: string | null, path: string, init: RequestInit = {}) {
  const headers = {
    'content-type': 'application/json',
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
  const answer = await fetch(`${line.api_base}${path}`, { ...init, headers });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** By their working directory, which PostgreSQL makes the data directory. */
function postgresProcessesOf(dataDir: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(dataDir, 'postgres'));
    } catch {
      return false;
    }
  });
}

describe('with the embedded database', () => {
  const dataDir = newDataDir();
  let env: Record<string, string>;
  let first: StartLine;

  beforeAll(async () => {
    env = { LINTEL_DATA_DIR: dataDir, PORT: await aPort() };
  });

  it('prints one complete line, and the key in it opens the building', async () => {
    const service = start(env);
    first = await service.ready;
    expect(first).toEqual({
      url: `http://localhost:${env.PORT}`,
      api_base: `http://localhost:${env.PORT}/api/v1`,
      api_key: expect.stringContaining(`http://localhost:${env.PORT}/api/v1_service_`),
      org_id: expect.stringMatching(/^[0-9A-Z]{26}$/),
      admin: { email: 'admin@lintel.local' },
      sign_in_url: expect.stringContaining(`http://localhost:${env.PORT}/`),
      demo: Object.fromEntries(
        ['front_door', 'side_door', 'gate', 'garage', 'lobby_light', 'stairwell_light'].map((key) => [
          key,
          expect.stringMatching(/^[0-9A-Z]{26}$/),
        ]),
      ),
    });
    const listed = await call(first, first.api_key, '/entities');
    const items = listed.body.items as { id: string }[];
    expect(items.map(({ id }) => id).sort()).toEqual(Object.values(first.demo).sort());
    const opened = await call(
      first,
      first.api_key,
      `/entities/${first.demo.front_door}/actions/switchable.open`,
      {
        method: 'POST',
        body: '{}',
      },
    );
    expect(opened).toMatchObject({ status: 200, body: { ok: true, entity_id: first.demo.front_door } });
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
    expect(statSync(join(dataDir, 'keys', 'pepper')).mode & 0o777).toBe(0o600);

    const { code, stdout } = await service.end('SIGTERM');
    expect(code).toBe(0);
    expect(stdout.match(/\n/g)).toHaveLength(1);
    expect(postgresProcessesOf(dataDir)).toEqual([]);
  });

  it('starts again with its data, and without a secret', async () => {
    const service = start(env);
    const second = await service.ready;
    expect(second).toEqual({ ...first, api_key: null, sign_in_url: null });
    const org = `/orgs/${first.org_id}/audit/events?event_type=entity.action`;
    const { status, body } = await call(second, first.api_key, org);
    expect([status, (body.items as unknown[]).length]).toEqual([200, 1]);

    const intruder = await start({ ...env, PORT: await aPort() }).ended;
    expect(intruder.code).toBe(1);
    expect(intruder.stderr).toContain(`Another Lintel is already running on ${dataDir}`);
    expect(intruder.stderr).not.toContain('    at ');
    expect((await call(second, first.api_key, '/entities')).status).toBe(200);
  });

  it('signs the administrator in once with a new link', async () => {
    const service = start(env, ['--json', '--sign-in-link']);
    const line = await service.ready;
    const cookie = await signIn(line.sign_in_url ?? '');
    const session = await fetch(`${line.api_base}/auth/session`, { headers: { cookie } });
    expect(JSON.stringify(await session.json())).toContain('admin@lintel.local');
    const doors = await fetch(`${line.api_base}/entities`, { headers: { cookie, 'x-org': line.org_id } });
    expect(doors.status).toBe(200);
    await expect(signIn(line.sign_in_url ?? '')).rejects.toThrow();
  });

  it('takes repeated signals for one and finishes what runs', async () => {
    const service = start(env, []);
    await once(service.child.stdout, 'data');
    service.child.kill('SIGINT');
    service.child.kill('SIGINT');
    const { code, stdout: text } = await service.end('SIGTERM');
    expect(code).toBe(0);
    expect(text).toContain('is running');
    expect(text).not.toMatch(/_service_|code=/);
    expect(postgresProcessesOf(dataDir)).toEqual([]);
  });
});

async function signIn(url: string): Promise<string> {
  const page = await fetch(url);
  const html = await page.text();
  const action = /<form[^>]*action="([^"]+)"/.exec(html)?.[1];
  if (action === undefined) throw new Error(`no form: ${html}`);
  const fields = [...html.matchAll(/<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g)];
  const origin = new URL(url).origin;
  const answer = await fetch(new URL(action.replaceAll('&amp;', '&'), url), {
    method: 'POST',
    redirect: 'manual',
    headers: { origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields.map(([, name = '', value = '']) => [name, value])),
  });
  const cookie = answer.headers.getSetCookie().find((line) => line.includes('session'));
  if (cookie === undefined) throw new Error(`no session: ${answer.status}`);
  return cookie.split(';')[0] ?? '';
}

describe('with a database of the operator', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase(inject('ownerUrl'), 'template0');
  });
  afterAll(() => database.drop());

  const kek = generateToken();

  it('serves on two nodes with one pepper and key, and refuses one with another', async () => {
    const node = async (pepper: string, key = kek) =>
      start({
        DATABASE_URL: database.url,
        LINTEL_DATA_DIR: newDataDir(),
        PORT: await aPort(),
        PUBLIC_URL: 'http://localhost:9999',
        LINTEL_PEPPER: pepper,
        LINTEL_KEK: key,
      });
    const first = await (await node('the same everywhere')).ready;
    const second = await (await node('the same everywhere')).ready;
    expect([first.api_key === null, second.api_key]).toEqual([false, null]);
    expect(second.org_id).toBe(first.org_id);
    const stranger = await (await node('not the same')).ended;
    expect(stranger.code).toBe(1);
    expect(stranger.stderr).toMatch(/^This node has another pepper than the database/m);
    const keyless = await (await node('the same everywhere', generateToken())).ended;
    expect(keyless.code).toBe(1);
    expect(keyless.stderr).toMatch(/this node lacks a key encryption key/);
  });

  it('finishes the open that runs when it is told to stop', async () => {
    const fresh = await createTestDatabase(inject('ownerUrl'), 'template0');
    const env = { DATABASE_URL: fresh.url, LINTEL_DATA_DIR: newDataDir(), PORT: await aPort() };
    const service = start(env);
    const line = await service.ready;
    await fresh.query(`update integrations set config = '{"latency_ms": 1500}'`);
    const path = `/entities/${line.demo.gate}/actions/open`;
    const opened = call(line, line.api_key, path, { method: 'POST', body: '{}' });
    // In whatever state: on a slow machine it may be over by the time somebody looks.
    await expect.poll(() => fresh.query('select state from intents'), { timeout: 15_000 }).toHaveLength(1);
    const { code } = await service.end('SIGTERM');
    expect([code, await opened]).toMatchObject([0, { status: 200, body: { outcome: 'succeeded' } }]);
    expect(await fresh.query('select state from intents')).toEqual([{ state: 'succeeded' }]);
    await fresh.drop();
  });

  it('leaves no database of its own', async () => {
    const dataDir = newDataDir();
    const env = { DATABASE_URL: database.url, LINTEL_PEPPER: 'the same everywhere', LINTEL_KEK: kek };
    const service = start({ ...env, LINTEL_DATA_DIR: dataDir, PORT: await aPort() });
    await service.ready;
    expect((await service.end('SIGTERM')).code).toBe(0);
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
  });
});

describe('started wrongly, it says one thing and ends', () => {
  const refused = async (env: Record<string, string>, args?: readonly string[]) => {
    const { code, stdout, stderr } = await start({ LINTEL_DATA_DIR: newDataDir(), ...env }, args).ended;
    expect(stdout).toBe('');
    expect(stderr).not.toContain('    at ');
    return { code, stderr };
  };

  it('a setting that makes no sense', async () => {
    expect(await refused({ PORT: 'high' })).toEqual({
      code: 2,
      stderr: expect.stringContaining('PORT must be a whole number'),
    });
  });

  it('an unknown option', async () => {
    expect(await refused({}, ['--jsno'])).toEqual({
      code: 2,
      stderr: expect.stringContaining('Usage: npm start'),
    });
  });

  it('a database that does not answer', async () => {
    const port = await aPort();
    const env = {
      DATABASE_URL: `postgresql://lintel:secret@127.0.0.1:${port}/lintel`,
      PORT: await aPort(),
    };
    const { code, stderr } = await refused(env);
    expect([code, stderr]).toEqual([1, `No PostgreSQL answers at 127.0.0.1:${port}. Check DATABASE_URL.\n`]);
  });

  it('a database user without the right to make the role', async () => {
    const database = await createTestDatabase(inject('ownerUrl'), 'template0');
    const name = new URL(database.url).pathname.slice(1);
    // The role may exist in this cluster already; without being a member the user can not set it up either way.
    await database.query(`create role ${name} login password 'x'`);
    await database.query(`alter database ${name} owner to ${name}`);
    const url = new URL(database.url);
    url.username = name;
    url.password = 'x';
    const { code, stderr } = await refused({ DATABASE_URL: url.href, PORT: await aPort() });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`GRANT lintel_app, lintel_secrets TO "${name}"`),
    ]);

    await database.query(`grant lintel_app, lintel_secrets to ${name}`);
    const service = start({ DATABASE_URL: url.href, LINTEL_DATA_DIR: newDataDir(), PORT: await aPort() });
    expect((await service.ready).api_key).not.toBeNull();
    await service.end('SIGTERM');
    await database.query(`reassign owned by ${name} to current_user`);
    await database.query(`drop owned by ${name}`);
    await database.query(`drop role ${name}`);
    await database.drop();
  });

  it('a port that is taken, before the first run has spent its secrets', async () => {
    const database = await createTestDatabase(inject('ownerUrl'), 'template0');
    const port = await freePort();
    const other = createServer().listen(port, '0.0.0.0');
    await once(other, 'listening');
    const env = { DATABASE_URL: database.url, PORT: String(port) };
    const { code, stderr } = await refused(env);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`Port ${port} is taken`)]);
    other.close();
    await once(other, 'close');
    const service = start({ ...env, LINTEL_DATA_DIR: newDataDir() });
    expect((await service.ready).api_key).not.toBeNull();
    await service.end('SIGTERM');
    await database.drop();
  });
});

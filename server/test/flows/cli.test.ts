// The command against the service, each as it is started by people.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type CliOptions, runCli } from '../../../cli/test/support/run-cli.ts';
import { repositoryRoot } from '../support/architecture-trees.ts';
import { freePort } from '../support/peers/free-port.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';
import { makeTestDir } from '../support/test-cluster.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const folder = makeTestDir();
const tower = join(repositoryRoot, 'examples', 'tower.openapp');
let db: TestDatabase;
let service: ServiceProcess;
let env: Record<string, string>;

beforeAll(async () => {
  db = await createTestDatabase(inject('ownerUrl'), 'template0');
  service = await startService({
    DATABASE_URL: db.url,
    LINTEL_DATA_DIR: join(folder, 'data'),
    PORT: String(await freePort()),
    HOST: '127.0.0.1',
  });
  env = { LINTEL_CONFIG: join(folder, 'config.json'), LINTEL_TOKEN: service.ready.api_key ?? '' };
});
afterAll(async () => {
  await service.end('SIGTERM');
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

const lintel = (args: string[], options: CliOptions = {}) =>
  runCli(args, { cwd: folder, ...options, env: { ...env, ...options.env } });
const json = async (args: string[], options: CliOptions = {}) => {
  const { code, stdout, stderr } = await lintel([...args, '--json'], options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
};

describe('lintel', () => {
  it('as a program of its own signs in, looks at everything, opens a door and finds it in the log', async () => {
    const run = async (...args: string[]) => {
      const main = join(repositoryRoot, 'cli', 'src', 'main.ts');
      const options = { cwd: folder, env: { PATH: process.env.PATH, LINTEL_CONFIG: env.LINTEL_CONFIG } };
      return (await promisify(execFile)(process.execPath, [main, ...args], options)).stdout;
    };
    expect(await run('login', '--token', service.ready.api_key ?? '')).toContain('admin@lintel.local');
    expect(JSON.parse(await run('doctor', '--json'))).toMatchObject({ ok: true });
    expect(await run('open', 'front DOOR')).toBe('✓ Front door is open\n');
    expect(await run('audit', 'tail', '-n', '1', '--event-type', 'entity.action')).toMatch(
      /succeeded {2}entity\.action {2}entity "Front door"/,
    );
  });

  it('makes, lists and revokes keys, and a revoked one is not authorized', async () => {
    const { token } = await json(['keys', 'create', 'ci', '--role', 'entities:list', '--expires-in', '1d']);
    expect((await lintel(['open', 'Nowhere', '--token', String(token)])).code).toBe(4);
    expect((await lintel(['open', 'Front door', '--token', String(token)])).code).toBe(3);
    expect(await json(['keys', 'revoke', 'ci'])).toMatchObject({ revoked: true });
    expect((await lintel(['open', 'Nowhere', '--token', String(token)])).code).toBe(3);
    expect((await lintel(['keys'])).stdout).toMatch(/revoked .* ci$/m);
  });

  it('opens for an agent that must confirm only when it does', async () => {
    const door = service.ready.demo.side_door ?? '';
    await json(['agents', 'create', 'porter', '--confirmation', 'always', '--entity', door]);
    const { token } = await json(['agents', 'credential', 'porter']);
    const as = ['--token', String(token)];
    expect((await lintel(['open', 'Side door', ...as])).code).toBe(7);
    const { code, stdout, stderr } = await lintel(['open', 'Side door', '--yes', ...as]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '✓ Side door is open\n' });
    expect(stderr).toContain('Side door (door, ');
    await json(['agents', 'revoke', 'porter']);
    expect((await lintel(['open', 'Side door', ...as])).code).toBe(3);
  });
});

describe('lintel login --email', () => {
  const email = 'porter@people.test';
  const password = ' a long enough passphrase';
  const config = join(folder, 'person.json');
  const as = (args: string[], input = '') =>
    lintel(args, { input, env: { LINTEL_TOKEN: '', LINTEL_CONFIG: config, LINTEL_URL: service.ready.url } });

  it('signs a person in with a password, until logout ends the session', async () => {
    const orgId = service.ready.org_id;
    const created = await fetch(`${service.ready.api_base}/users`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.ready.api_key}`,
        'x-org': orgId,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: 'Porter', email, password, roles: { [orgId]: ['admin'] } }),
    });
    expect(created.status).toBe(201);
    const wrong = await as(['login', '--email', email], 'a wrong one\n');
    expect(wrong).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('credentials') });
    expect(await as(['login', '--email', email], `${password}\n`)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`as Porter <${email}>`),
    });
    const { token } = JSON.parse(readFileSync(config, 'utf8')) as { token: string };
    expect((await as(['open', 'Front door', '--org', orgId])).code).toBe(0);
    expect((await as(['logout'])).code).toBe(0);
    expect((await as(['open', 'Front door', '--org', orgId, '--token', token])).code).toBe(3);
  });
});

describe('lintel script run', () => {
  it('answers with integers of 64 bits as they are', async () => {
    const input = '[9007199254740993, -9223372036854775808]';
    const { stdout } = await lintel(['script', 'run', '-', '--json'], { input });
    expect(stdout).toContain('"result":[9007199254740993,-9223372036854775808]');
  });
});

describe('lintel script run examples/tower.openapp', () => {
  const count = async () => {
    const text = `select (select count(*) from orgs)::int orgs, (select count(*) from integrations)::int integrations,
      (select count(*) from zones)::int zones, (select count(*) from devices)::int devices,
      (select count(*) from entities)::int entities`;
    return (await db.query(text))[0] as Record<string, number>;
  };

  it('plans, provisions 60 doors, and run again changes nothing', async () => {
    const before = await count();
    const plan = await lintel(['script', 'run', tower, '--plan']);
    expect(plan.stdout).toContain('+ create entity "Lift lobby 1"');
    expect(plan.stdout).toContain('Plan: 87 create. Nothing was changed.');
    expect(await count()).toEqual(before);

    const { result } = await json(['script', 'run', tower]);
    expect(result).toMatchObject({ floors: 12, doors: 60, created: 60 });
    const after = await count();
    const added = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]);
    expect(Object.fromEntries(added)).toEqual({
      orgs: 1,
      integrations: 1,
      zones: 13,
      devices: 12,
      entities: 60,
    });

    expect((await json(['script', 'run', tower])).result).toMatchObject({ doors: 60, created: 0 });
    expect((await lintel(['script', 'run', tower, '--plan'])).stdout).toContain('Plan: no changes.');
    expect(await count()).toEqual(after);
    const { org_id: orgId } = result as { org_id: string };
    expect((await lintel(['open', 'Service riser 12', '--org', orgId])).code).toBe(0);
  });

  it('points into an included file when something fails there', async () => {
    mkdirSync(join(folder, 'parts'));
    writeFileSync(join(folder, 'main.openapp'), 'print("first");\ninclude "parts/zones"\nmake_zone();\n');
    writeFileSync(
      join(folder, 'parts', 'zones.openapp'),
      'fn make_zone() {\n    create("zone", #{ nam: "x" })\n}\n',
    );
    const { code, stdout, stderr } = await lintel(['script', 'run', 'main.openapp']);
    expect({ code, stdout }).toEqual({ code: 6, stdout: 'first\n' });
    expect(stderr).toContain('nam');
    expect(stderr).toContain(
      [
        ' --> parts/zones.openapp:2:5',
        '  |',
        '2 |     create("zone", #{ nam: "x" })',
        '  |     ^',
        '  = included from main.openapp:2',
      ].join('\n'),
    );
    expect(stderr).toContain("in call to function 'make_zone' (main.openapp:3:1)");
  });
});

it('lintel shell keeps variables between inputs and works with the service', async () => {
  const input =
    'let doors = list("entity");\nlet front = doors.find(|d| d.name == "Front door");\nfront.entity_type\nget("entities", front.id).id == front.id\n';
  expect(await lintel(['shell'], { input })).toMatchObject({ code: 0, stdout: '"door"\ntrue\n' });
});

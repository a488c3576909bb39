import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from './config.ts';
import { MigrationError } from './db/migrate.ts';
import { AppError } from './kernel/app-error.ts';
import { systemClock } from './kernel/clock.ts';
import { Secret } from './kernel/secret.ts';
import { readArguments } from './startup-arguments.ts';
import { requireFreePort } from './startup-database.ts';
import { drain } from './startup-drain.ts';
import { explainFailure, StartupError } from './startup-error.ts';
import { createPepper, pepperCheck, readPepper, requireSamePepper } from './startup-pepper.ts';
import { reportLine, reportText, type StartReport } from './startup-report.ts';
import { createStopRequests } from './startup-stop.ts';

describe('arguments', () => {
  it('are read', () => {
    expect(readArguments([])).toEqual({ json: false, signInLink: false, help: false });
    expect(readArguments(['--json', '--sign-in-link', '-h'])).toEqual({
      json: true,
      signInLink: true,
      help: true,
    });
  });

  it.each([[['--jsno']], [['start']], [['--json=yes']]])('%j is answered with the usage', (argv) => {
    expect(() => readArguments(argv)).toThrow(/Usage: npm start/);
    expect(() => readArguments(argv)).toThrow(expect.objectContaining({ exitCode: 2 }));
  });
});

describe('settings', () => {
  it('that are empty count as not set', () => {
    const config = readConfig({ DATABASE_URL: '', LINTEL_PEPPER: '', METRICS_TOKEN: '', PORT: '' });
    expect(config).toMatchObject({ databaseUrl: null, pepper: null, metricsToken: null, port: 8080 });
  });

  it('that make no sense are listed together', () => {
    const env = { DATABASE_URL: 'mysql://x', LINTEL_ADMIN_EMAIL: 'nobody', LOG_LEVEL: 'loud', PORT: '99999' };
    const faults = ['DATABASE_URL must', 'LINTEL_ADMIN_EMAIL must', 'LOG_LEVEL must', 'PORT must'];
    for (const fault of faults) expect(() => readConfig(env)).toThrow(fault);
    expect(() => readConfig(env)).toThrow(ConfigError);
  });
});

describe('failures', () => {
  const databaseUrl = 'postgresql://lintel:hunter2@db.test:6543/doors';
  const coded = (code: string, message = '') => Object.assign(new Error(message), { code });
  const explain = (error: unknown) => explainFailure(error, { databaseUrl });

  it.each([
    [coded('ECONNREFUSED'), 'No PostgreSQL answers at db.test:6543'],
    [
      new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]),
      'No PostgreSQL answers at db.test:6543',
    ],
    [
      new AppError('unavailable', 'x', { cause: coded('ECONNREFUSED') }),
      'No PostgreSQL answers at db.test:6543',
    ],
    [new Error('timeout expired'), 'No PostgreSQL answers at db.test:6543'],
    [coded('ENOTFOUND'), 'can not be found'],
    [coded('28P01'), 'does not let lintel in'],
    [coded('3D000'), 'createdb -O lintel doors'],
    [
      new MigrationError('m', { cause: coded('42501', 'permission denied to create role') }),
      'GRANT lintel_app, lintel_secrets TO "lintel"',
    ],
    [new MigrationError('PostgreSQL 15 or newer is needed; this one is 13.4'), 'this one is 13.4'],
    [new StartupError('told as it is'), 'told as it is'],
  ])('%s is told in the words of the operator', (error, text) => {
    const failure = explain(error);
    expect(failure?.message).toContain(text);
    expect(failure?.message).not.toMatch(/hunter2|\n {4}at /);
    expect(failure?.exitCode).toBe(1);
  });

  it('of the configuration are told apart by the exit code', () => {
    expect(explain(new ConfigError('PORT'))).toEqual({ message: 'PORT', exitCode: 2 });
  });

  it('of our own keep their stack', () => {
    expect(explain(new TypeError('x is undefined'))).toBeNull();
    expect(explainFailure(coded('ECONNREFUSED'), { databaseUrl: null })).toBeNull();
  });

  it('a taken port is named with a way out', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { port: number };
    const error = await requireFreePort(port, '127.0.0.1').catch((reason: unknown) => reason);
    expect(explain(error)?.message).toBe(
      `Port ${port} is taken by another program. Choose another one: PORT=${port + 1} npm start`,
    );
    taken.close();
  });
});

describe('the pepper', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'lintel-pepper-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  it('is made once, for the owner’s eyes only', () => {
    expect(readPepper({ pepper: null, dataDir })).toBeNull();
    const made = createPepper({ dataDir });
    const file = join(dataDir, 'keys', 'pepper');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'keys')).mode & 0o777).toBe(0o700);
    expect(readFileSync(file, 'utf8').trim()).toBe(made.reveal());
    expect(readPepper({ pepper: null, dataDir })?.reveal()).toBe(made.reveal());
  });

  it('of the configuration comes first', () => {
    createPepper({ dataDir });
    expect(readPepper({ pepper: new Secret('set'), dataDir })?.reveal()).toBe('set');
  });

  it('that is damaged is not used', () => {
    createPepper({ dataDir });
    writeFileSync(join(dataDir, 'keys', 'pepper'), 'half');
    expect(() => readPepper({ pepper: null, dataDir })).toThrow(/damaged/);
  });

  it('of another node is noticed', () => {
    const check = pepperCheck(new Secret('theirs'));
    expect(() => requireSamePepper(new Secret('ours'), check, dataDir)).toThrow(/another pepper/);
    expect(() => requireSamePepper(null, check, dataDir)).toThrow(/lacks its pepper/);
    expect(requireSamePepper(new Secret('theirs'), check, dataDir).reveal()).toBe('theirs');
  });
});

describe('requests to stop', () => {
  it('within a second are one, a later one leaves at once', async () => {
    let now = 5000;
    let left = 0;
    const handlers = new Map<string, () => void>();
    const stop = createStopRequests({
      clock: { ...systemClock, monotonicMs: () => now },
      listen: (signal, handler) => handlers.set(signal, handler),
      leaveAtOnce: () => {
        left += 1;
      },
    });
    expect(stop.isRequested()).toBe(false);
    handlers.get('SIGINT')?.();
    handlers.get('SIGINT')?.();
    now += 1000;
    handlers.get('SIGTERM')?.();
    expect(await stop.requested).toBe('SIGINT');
    expect([stop.isRequested(), left]).toEqual([true, 0]);
    now += 1;
    handlers.get('SIGINT')?.();
    expect(left).toBe(1);
  });
});

describe('draining', () => {
  const serve = async (handler: RequestListener) => {
    const server = createHttpServer(handler).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    return { server, close, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };

  it('lets a running request finish and does not wait for its idle connection', async () => {
    const arrived = Promise.withResolvers<ServerResponse>();
    const { server, close, url } = await serve((_request, response) => arrived.resolve(response));
    const answer = fetch(url).then((response) => response.text());
    const response = await arrived.promise;
    const drained = drain(server, close, 60_000);
    response.end('done');
    expect(await answer).toBe('done');
    await drained;
  });

  it('cuts off what does not end', async () => {
    const arrived = Promise.withResolvers<void>();
    const { server, close, url } = await serve(() => arrived.resolve());
    const answer = fetch(url);
    await arrived.promise;
    await Promise.all([expect(answer).rejects.toThrow(), drain(server, close, 10)]);
  });
});

describe('the report', () => {
  const first: StartReport = {
    version: '1.2.3',
    publicUrl: 'http://localhost:8080',
    dataDir: '/srv/data',
    database: null,
    orgId: 'ORG',
    adminEmail: 'admin@lintel.local',
    apiKey: 'http://localhost:8080/api/v1_service_secret',
    signInUrl: 'http://localhost:8080/identity/sign-in?code=once',
    hasSignInLinks: true,
    demo: { front_door: 'DOOR' },
  };
  const later: StartReport = { ...first, apiKey: null, signInUrl: null };

  it('for programs is one line', () => {
    expect(reportLine(first)).not.toContain('\n');
    expect(JSON.parse(reportLine(later))).toEqual({
      url: 'http://localhost:8080',
      api_base: 'http://localhost:8080/api/v1',
      api_key: null,
      org_id: 'ORG',
      admin: { email: 'admin@lintel.local' },
      sign_in_url: null,
      demo: { front_door: 'DOOR' },
    });
  });

  it('for people has a command that opens the front door, as it is', () => {
    const text = reportText(first);
    const command = /curl.*?-d '\{\}'/s.exec(text)?.[0];
    expect(command).toBe(`curl -X POST http://localhost:8080/api/v1/entities/DOOR/actions/switchable.open \\
      -H 'Authorization: Bearer ${first.apiKey}' \\
      -H 'Content-Type: application/json' -d '{}'`);
    expect(text).toContain(first.signInUrl);
  });

  it('for people has what the examples of the README ask for', () => {
    const text = reportText(first);
    expect(text).toMatch(/^ {2}API +http:\/\/localhost:8080\/api\/v1$/m);
    expect(text).toMatch(/^ {2}Org id +ORG$/m);
  });

  it('of a later start has no secret and says how to get a link', () => {
    const text = reportText(later);
    expect(text).not.toMatch(/_service_|code=|curl/);
    expect(text).toContain('npm start -- --sign-in-link');
  });

  it('sends people to an external identity provider', () => {
    const text = reportText({ ...later, hasSignInLinks: false });
    expect(text).toContain('at your identity provider, as admin@lintel.local');
    expect(text).not.toContain('--sign-in-link');
  });
});

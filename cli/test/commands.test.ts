// The commands against a service that does what the real one does only by chance.
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CliOptions, runCli } from './support/run-cli.ts';
import { startTwin, type TwinAnswer, type TwinRequest, type TwinService } from './support/twin-service.ts';

let folder: string;
let twin: TwinService | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lintel-cli-'));
});
afterEach(async () => {
  await twin?.close();
  twin = null;
  rmSync(folder, { recursive: true, force: true });
});

async function withTwin(answer: (request: TwinRequest) => TwinAnswer): Promise<TwinService> {
  twin = await startTwin(answer);
  return twin;
}

const run = (args: string[], options: CliOptions = {}) =>
  runCli(args, {
    cwd: folder,
    ...options,
    env: {
      LINTEL_CONFIG: join(folder, 'config', 'config.json'),
      LINTEL_HISTORY: join(folder, 'history'),
      ...(twin === null ? {} : { LINTEL_TOKEN: twin.token }),
      ...options.env,
    },
  });

const id = (n: number) => `01AAAAAAAAAAAAAAAAAAAAAAA${n}`;
const entity = (n: number, name: string) => ({ id: id(n), name, entity_type: 'door' });
const doors =
  (names: readonly string[], act: (request: TwinRequest) => TwinAnswer) => (request: TwinRequest) => {
    if (request.method === 'POST') return act(request);
    const items = names.map((name, index) => entity(index, name));
    return [200, { items, total: items.length }] as const;
  };
const refusal = (code: string, more: object = {}) => ({
  message: `it is ${code}`,
  code,
  correlationId: 'C1',
  ...more,
});
const opened: TwinAnswer = [200, { ok: true, state: 'open' }];

describe('open', () => {
  it('opens the one with exactly this name, with an idempotency key', async () => {
    const { requests } = await withTwin(doors(['gate', 'Gate', 'Gate 2'], () => opened));
    expect(await run(['open', 'Gate'])).toMatchObject({ code: 0, stdout: '✓ Gate is open\n' });
    const [sent] = requests.filter(({ method }) => method === 'POST');
    expect(sent?.path).toBe(`/entities/${id(1)}/actions/switchable.open`);
    expect(sent?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['several have the name', ['Gate', 'Gate'], 'Gate', '2 entity records are called Gate'],
    ['several have it in another case', ['GATE', 'gate'], 'Gate', '2 entity records are called Gate'],
    ['none has it', ['Gate 1', 'Gate 2'], 'Gate', 'There is no entity called Gate'],
  ])('opens nothing when %s, and shows the candidates', async (_case, names, wanted, message) => {
    const { requests } = await withTwin(doors(names, () => opened));
    const { code, stderr } = await run(['open', wanted]);
    expect(code).toBe(4);
    expect(stderr).toContain(message);
    expect(stderr).toContain(id(0));
    expect(stderr).toContain(id(1));
    expect(requests.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  const asksOnce = (request: TwinRequest): TwinAnswer =>
    request.headers['x-acme-confirm'] === 'P1'
      ? opened
      : [409, refusal('confirmation_required', { preview_token: 'P1' })];

  it('confirms with --yes only, under the header of the brand and the same key', async () => {
    const { requests } = await withTwin(doors(['Vault'], asksOnce));
    const refused = await run(['open', 'vault']);
    expect(refused).toMatchObject({ code: 7, stdout: '' });
    expect(refused.stderr).toContain('it is confirmation_required');
    expect(refused.stderr).toContain('--yes');
    expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1);

    expect(await run(['open', 'vault', '--yes'])).toMatchObject({ code: 0 });
    const [, first, second] = requests.filter(({ method }) => method === 'POST');
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
  });

  it.each([
    ['y\n', 0],
    ['n\n', 7],
    ['\n', 7],
  ])('asks on a terminal: %j ends with %d', async (input, code) => {
    await withTwin(doors(['Vault'], asksOnce));
    const answer = await run(['open', 'vault'], { isTty: true, input });
    expect(answer.stderr).toContain('Open it? [y/N]');
    expect(answer.code).toBe(code);
  });

  it('says that nobody knows when the answer is lost, and how to ask again safely', async () => {
    const { requests } = await withTwin(doors(['Gate'], () => 'hang up'));
    const { code, stderr } = await run(['open', 'Gate']);
    expect(code).toBe(5);
    expect(stderr).toContain('Whether it opened is not known');
    const posts = requests.filter(({ method }) => method === 'POST');
    expect(posts).toHaveLength(1);
    expect(stderr).toContain(`--idempotency-key ${posts[0]?.headers['idempotency-key']}`);
  });
});

describe('login', () => {
  const profile = { user_id: id(1), name: { en: 'Ada' }, email: 'ada@x.test', org_id: id(2), roles: {} };

  it('stores what works, for its owner only, and later commands use it', async () => {
    const { token, requests } = await withTwin(({ path }) => [
      200,
      path === '/me/profile' ? profile : { items: [], total: 0 },
    ]);
    const path = join(folder, 'config', 'config.json');
    expect(
      await run(['login', '--token', '-'], { input: `${token}\n`, env: { LINTEL_TOKEN: '' } }),
    ).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('as Ada <ada@x.test>'),
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ token });
    expect((await run(['keys', 'list', '--json'], { env: { LINTEL_TOKEN: '' } })).code).toBe(0);
    expect(requests.at(-1)?.headers.authorization).toBe(`Bearer ${token}`);
    chmodSync(path, 0o644);
    expect((await run(['login', '--token', token])).code).toBe(0);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('is taken back by logout, which says when there was nothing', async () => {
    const { token } = await withTwin(() => [200, profile]);
    const path = join(folder, 'config', 'config.json');
    await run(['login', '--token', token]);
    expect(await run(['logout'])).toMatchObject({ code: 0, stdout: `Removed ${path}.\n` });
    expect(() => statSync(path)).toThrow();
    expect(await run(['logout'])).toMatchObject({ code: 0, stdout: 'Nobody was logged in.\n' });
    expect((await run(['logout', '--json'])).stdout).toBe('{"removed":null}\n');
  });

  it('asks for a password on a terminal without showing it, and sends it as it was typed', async () => {
    const { url, requests } = await withTwin(({ path, method }) => {
      if (path === '/me/profile') return [200, profile];
      return [200, method === 'POST' ? { session_token: 'ory_st_1' } : { id: 'F 1' }];
    });
    const { code, stdout, stderr } = await run(['login', '--url', url, '--email', 'ada@x.test'], {
      isTty: true,
      input: ' hunter22 \n',
    });
    expect(code).toBe(0);
    expect(stderr).toContain('Password of ada@x.test at ');
    expect(stdout + stderr).not.toContain('hunter22');
    const [, submitted, asked] = requests;
    expect(submitted).toMatchObject({
      path: '/identity/self-service/login?flow=F%201',
      body: { method: 'password', identifier: 'ada@x.test', password: ' hunter22 ' },
    });
    expect(asked?.headers.authorization).toBe('Bearer ory_st_1');
  });

  it('forgets a session also when the service can not end it, and says so', async () => {
    const { url } = await withTwin(({ path, method }) => {
      if (path === '/auth/logout') return 'hang up';
      if (path === '/me/profile') return [200, profile];
      return [200, method === 'POST' ? { session_token: 'ory_st_1' } : { id: 'F1' }];
    });
    await run(['login', '--url', url, '--email', 'ada@x.test'], { input: 'x\n' });
    const { code, stdout, stderr } = await run(['logout']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('Removed ') });
    expect(stderr).toContain('The session could not be ended');
  });

  it('with a password says when the service takes none', async () => {
    const { url } = await withTwin(() => [404, refusal('not_found')]);
    const answer = await run(['login', '--url', url, '--email', 'ada@x.test'], { input: 'x\n' });
    expect(answer).toMatchObject({ code: 1, stderr: expect.stringContaining('takes no passwords itself') });
    expect(await run(['login', '--email', 'a@x.test', '--token', 'x'])).toMatchObject({ code: 2 });
    expect(await run(['login', '--url', url, '--email', 'a@x.test'])).toMatchObject({ code: 2 });
  });

  it('stores nothing that does not work', async () => {
    const { token } = await withTwin(() => [401, refusal('unauthorized')]);
    expect(await run(['login', '--token', token])).toMatchObject({ code: 3 });
    expect(() => statSync(join(folder, 'config', 'config.json'))).toThrow();
  });
});

describe('script run', () => {
  const failure = (line: number, column: number, message: string): TwinAnswer => [
    400,
    refusal('script_error', {
      message,
      details: [{ path: '/script', message, line, column }],
      output: ['so far'],
    }),
  ];

  it('shows output and failure at the place that was written, and no secret', async () => {
    writeFileSync(join(folder, 'main.openapp'), 'include "lib"\nprint(1);\n');
    writeFileSync(join(folder, 'lib.openapp'), '\n\tlet key = "{{KEY}}"; oops;\n');
    writeFileSync(join(folder, 'secret.json'), '{"KEY": "hunter22"}');
    const { requests } = await withTwin(() =>
      failure(2, 24, `Variable not found: hunter22 (line 2, position 24)`),
    );
    const { code, stdout, stderr } = await run([
      'script',
      'run',
      'main.openapp',
      '--from-secret',
      'secret.json',
    ]);
    expect(requests[0]?.body).toEqual({ script: '\n\tlet key = "hunter22"; oops;\n\nprint(1);\n' });
    expect({ code, stdout }).toEqual({ code: 6, stdout: 'so far\n' });
    expect(stderr).toBe(
      [
        'error: Variable not found: {{KEY}}',
        ' --> lib.openapp:2:23',
        '  |',
        '2 |  let key = "{{KEY}}"; oops;',
        '  |                       ^',
        '  = included from main.openapp:1',
        'correlation id: C1',
        '',
      ].join('\n'),
    );
  });

  it('gives programs one document, also for a failure', async () => {
    writeFileSync(join(folder, 'a.openapp'), 'oops');
    await withTwin(() => failure(1, 1, 'Variable not found: oops (line 1, position 1)'));
    const { code, stdout, stderr } = await run(['script', 'run', 'a.openapp', '--json']);
    expect({ code, stderr }).toEqual({ code: 6, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      error: {
        code: 'script_error',
        message: 'Variable not found: oops',
        file: 'a.openapp',
        line: 1,
        column: 1,
        output: ['so far'],
      },
    });
  });

  it('shows integers of 64 bits as the service gives them', async () => {
    await withTwin(() => [200, { result: [9007199254740993n, -9223372036854775808n], output: [] }]);
    const input = '[9007199254740993, -9223372036854775808]';
    expect((await run(['script', 'run', '-'], { input })).stdout).toBe(
      '[\n  9007199254740993,\n  -9223372036854775808\n]\n',
    );
    expect((await run(['script', 'run', '-', '--json'], { input })).stdout).toBe(
      '{"result":[9007199254740993,-9223372036854775808],"output":[]}\n',
    );
  });

  it('puts numbers of a secret in as they are written', async () => {
    writeFileSync(join(folder, 'secret.json'), '{"N": 9223372036854775807, "F": 1.0}');
    const { requests } = await withTwin(() => [200, { result: null, output: [] }]);
    await run(['script', 'run', '-', '--from-secret', 'secret.json'], { input: '{{N}} {{F}}' });
    expect(requests[0]?.body).toEqual({ script: '9223372036854775807 1.0' });
  });

  it('sends nothing while values are missing, and lists all of them', async () => {
    writeFileSync(join(folder, 'a.openapp'), '{{A}}\n{{B}}');
    writeFileSync(join(folder, '.env'), 'C=1\n');
    const { requests } = await withTwin(() => [200, {}]);
    const { code, stderr } = await run(['script', 'run', 'a.openapp', '--from-env-file', '.env']);
    expect(code).toBe(6);
    expect(stderr).toContain('No value for {{A}}');
    expect(stderr).toContain('No value for {{B}}');
    expect(requests).toEqual([]);
  });
});

describe('all commands', () => {
  it.each([
    [['open'], 2],
    [['nonsense'], 2],
    [['keys', '--wrong'], 2],
    [['--url', 'nonsense', 'keys'], 2],
    [['script', 'run', 'missing.openapp'], 2],
    [['--version'], 0],
    [['--help'], 0],
  ])('%j ends with %d', async (args, code) => {
    await withTwin(() => [500, {}]);
    expect((await run(args)).code).toBe(code);
  });

  it('without a key say so', async () => {
    for (const args of [['keys'], ['agents'], ['open', 'x'], ['audit', 'tail'], ['shell']])
      expect(await run(args)).toMatchObject({ code: 3, stderr: expect.stringContaining('lintel login') });
  });

  it('say when there is no service, and end with 5', async () => {
    await withTwin(() => 'hang up');
    expect(await run(['keys'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('does not answer'),
    });
    expect(await run(['doctor'])).toMatchObject({ code: 5 });
  });

  it('colour on a terminal only, and not with NO_COLOR', async () => {
    await withTwin(doors(['Gate'], () => opened));
    const coloured = (text: string) => text.includes('\u001b[3');
    expect(coloured((await run(['open', 'Gate'], { isTty: true })).stdout)).toBe(true);
    expect(coloured((await run(['open', 'Gate'])).stdout)).toBe(false);
    expect(coloured((await run(['open', 'Gate'], { isTty: true, env: { NO_COLOR: '1' } })).stdout)).toBe(
      false,
    );
  });

  it('let no name of a record play tricks with the terminal', async () => {
    await withTwin(() => [
      200,
      { items: [{ id: id(1), name: 'a\u001b[2Jb\u202e', token_suffix: 'x', expires_at: 'x' }], total: 1 },
    ]);
    expect((await run(['keys'])).stdout).toContain('a\\u{1b}[2Jb\\u{202e}');
  });

  it('report a clock that is wrong', async () => {
    await withTwin(({ path }) => [
      200,
      path === '/status' ? { version: '0.1.0' } : { email: 'a', api_key_expires_at: null },
    ]);
    const late = await run(['doctor', '--json'], { now: Date.now() + 3_600_000 });
    expect(late.code).toBe(1);
    expect(JSON.parse(late.stdout)).toMatchObject({
      ok: false,
      checks: expect.arrayContaining([expect.objectContaining({ name: 'clock', state: 'failed' })]),
    });
    expect((await run(['doctor'])).code).toBe(0);
  });

  it('complete commands and options', async () => {
    expect((await run(['__complete', '--', 'ag'])).stdout).toBe('agents\n');
    expect((await run(['__complete', '--', 'agents', 'cr'])).stdout).toBe('create\ncredential\n');
    expect((await run(['__complete', '--', 'script', 'run', '--pl'])).stdout).toBe('--plan\n');
    expect((await run(['__complete', '--', 'script', 'run', 'fi'])).stdout).toBe('');
    for (const shell of ['bash', 'zsh', 'fish'])
      expect((await run(['completion', shell])).stdout).toContain('lintel __complete --');
    expect((await run(['completion', 'tcsh'])).code).toBe(2);
  });
});

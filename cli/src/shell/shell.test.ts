import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSession } from '@lintel/script/session';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CliOptions, runCli } from '../../test/support/run-cli.ts';
import { startTwin, type TwinService } from '../../test/support/twin-service.ts';
import { completeLine } from './complete.ts';
import { ulid } from './host-functions.ts';

let folder: string;
let twin: TwinService;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lintel-shell-'));
  twin = await startTwin(({ body }) => {
    const { script } = body as { script: string };
    const message = 'Runtime error: there is no kind "door" (line 1, position 1)';
    if (script.startsWith('list(')) return [200, { result: [9007199254740993n], output: [] }];
    if (script.includes('"door"')) return [400, { message, code: 'script_error', correlationId: 'C' }];
    return [200, { result: { id: 'X', sent: script }, output: [] }];
  });
});
afterEach(async () => {
  await twin.close();
  rmSync(folder, { recursive: true, force: true });
});

const type = (lines: readonly string[], options: CliOptions = {}, flags: readonly string[] = []) =>
  runCli(['shell', ...flags], {
    cwd: folder,
    input: lines.map((line) => `${line}\n`).join(''),
    env: { LINTEL_TOKEN: twin.token, LINTEL_HISTORY: join(folder, 'state', 'history'), NO_COLOR: '1' },
    ...options,
  });

describe('the shell', () => {
  it('keeps variables, functions and closures from input to input', async () => {
    const { code, stdout } = await type([
      'let n = 1;',
      'fn twice(x) { x * 2 }',
      'let add = |x| x + n;',
      'n += 40;',
      'twice(add.call(1))',
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '84\n' });
  });

  it('reads an input to its last bracket, text and comment', async () => {
    const { stdout } = await type([
      'let m = #{',
      '  a: [1,',
      '  2], // }',
      '};',
      '`one',
      'two`.len()',
      'm.a.len()',
    ]);
    expect(stdout).toBe('7\n2\n');
  });

  it('reads on where something must follow', async () => {
    const { code, stdout } = await type([
      'let x = 1 +',
      '2',
      ';',
      'x = x + // and',
      '',
      'x *',
      ' 10',
      'if x > 2',
      '{ "many" }',
      'let text = "one \\',
      'two";',
      'text',
    ]);
    expect(stdout).toBe('30\n"many"\n"one two"\n');
    // What the empty line ended.
    expect(code).toBe(6);
  });

  it('lets empty lines stand inside of brackets', async () => {
    expect((await type(['fn f() {', '', '  1', '', '}', 'f()'])).stdout).toBe('1\n');
  });

  it('says at once what no further line makes right', async () => {
    const { stdout, stderr } = await type(['let 5', '"abc', '1 + ;', 'include "missing"', '2']);
    expect(stdout).toBe('2\n');
    expect(stderr.match(/^error: /gm)).toHaveLength(4);
  });

  it('asks the service for what it alone can do, with the values as they are', async () => {
    const { stdout } = await type([
      'let name = "A \\"B\\"";',
      'create("zone", #{ name: name, on: true }).sent',
    ]);
    expect(stdout).toBe('"create(\\"zone\\", #{ \\"name\\": \\"A \\\\\\"B\\\\\\"\\", \\"on\\": true })"\n');
    expect(twin.requests).toHaveLength(1);
  });

  it('keeps integers of 64 bits on the way to the service and back', async () => {
    const lines = [
      'let n = list("zone")[0];',
      'n + 1',
      'create("zone", #{ n: n }).sent.contains("9007199254740993 ")',
    ];
    expect((await type(lines)).stdout).toBe('9007199254740994\ntrue\n');
    expect((await type(lines.slice(0, 2), {}, ['--json'])).stdout).toContain('{"result":9007199254740994}\n');
  });

  it('goes on after a failure, which is shown where it was typed, and ends with 6', async () => {
    const { code, stdout, stderr } = await type(['let a = 1;', 'let b = get("door", "x");', 'a']);
    expect({ code, stdout }).toEqual({ code: 6, stdout: '1\n' });
    expect(stderr).toBe(
      [
        'error: Runtime error: there is no kind "door"',
        ' --> <shell>:1:9',
        '  |',
        '1 | let b = get("door", "x");',
        '  |         ^',
        '',
      ].join('\n'),
    );
  });

  it('lets scripts catch what the service refuses, and knows the constants of the brand', async () => {
    expect(
      (
        await type([
          'let said = "";',
          'try { get("door", "x") } catch (e) { said = e; }',
          'said',
          'ACME + TYPES.len()',
        ])
      ).stdout,
    ).toBe('"there is no kind \\"door\\""\n"16"\n');
  });

  it('includes files from where it was started', async () => {
    writeFileSync(join(folder, 'lib.openapp'), 'fn three() { 3 }');
    expect((await type(['include "lib"', 'three()'])).stdout).toBe('3\n');
  });

  it('writes one document for each input with --json', async () => {
    const { stdout } = await type(['print("hi"); [1, ()]', 'oops', '.vars'], {}, ['--json']);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { printed: 'hi' },
      { result: [1, null] },
      { error: expect.objectContaining({ message: 'Variable not found: oops', line: 1, column: 1 }) },
      { variables: {} },
    ]);
  });

  it('goes on after a value that is too deep to be written', async () => {
    const lines = ['let a = []; for i in 0..600 { a = [a]; } a', '.vars', '1'];
    const { code, stdout } = await type(lines, {}, ['--json']);
    const error = { error: { message: 'Nesting of values too large', code: 'script_error' } };
    expect({
      code,
      answers: stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    }).toEqual({
      code: 6,
      answers: [error, error, { result: 1 }],
    });
  });

  it('prompts on a terminal and keeps a history that only its owner can read', async () => {
    const { code, stdout, stderr } = await type(['let a = [', '1];', 'a', 'oops', '.exit'], { isTty: true });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '[1]\n' });
    expect(stderr).toContain('lintel> ');
    const path = join(folder, 'state', 'history');
    expect(readFileSync(path, 'utf8').split('\n').slice(0, 3)).toEqual(['let a = [', '1];', 'a']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('shows what an input that never ends is missing', async () => {
    expect((await type(['let a = [1,'])).stderr).toContain('Syntax error');
  });
});

describe('completion', () => {
  const session = createSession();
  session.variables.set('entrance', { cell: { v: 1, shared: false }, constant: false });
  const complete = (line: string) => completeLine(line, session, ['SERVICE', 'TYPES']);

  it('offers host functions, variables, constants and keywords', () => {
    expect(complete('let x = ent')).toEqual([['entity_action', 'entrance'], 'ent']);
    expect(complete('TY')[0]).toEqual(['TYPES']);
    expect(complete('whi')[0]).toEqual(['while']);
    expect([...complete('ev')[0], ...complete('imp')[0]]).toEqual([]);
    expect(complete('.v')).toEqual([['.vars'], '.v']);
  });

  it('offers methods after a dot, and no variables', () => {
    const [found] = complete('entrance.p');
    expect(found).toContain('push');
    expect(complete('x.entr')[0]).toEqual([]);
  });
});

it('makes ULIDs of the time', () => {
  expect(ulid(1_469_918_176_385)).toMatch(/^01ARYZ6S41[0-9A-HJKMNP-TV-Z]{16}$/);
});

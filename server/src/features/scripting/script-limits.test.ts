import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Script, scripting, scriptSoon, scriptsOf } from '../../../test/support/script-requests.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId } from '../../../test/support/test-world.ts';
import { createScriptRunner, type RunnerOptions, type ScriptRun } from './script-runner.ts';

const longTexts = (count: number) =>
  `let s = "x"; s.pad(1000000, "y"); let a = []; for i in 0..${count} { a.push(s); }`;
const shared = 'let a = [0]; for i in 0..60 { a = [a, a]; }';

describe('what leaves a script', { timeout: 240_000 }, () => {
  let app: TestApp;
  let run: Script;
  beforeAll(async () => {
    app = await startTestApp();
    const orgId = await app.world.org({ name: 'Limited' });
    run = scriptsOf(app, (await app.world.key(orgId, rootAdminId, scripting)).token);
  });
  afterAll(() => app.close());

  it.each([
    [`${longTexts(200)}\n a`, 'Size of result too large'],
    [`${longTexts(2000)}\n a`, 'Size of result too large'],
    [`${shared}\n a`, 'Size of result too large'],
    [`${longTexts(400)}\n list("zone", #{ a: a })`, 'Size of arguments too large'],
    [`${shared}\n create("zone", #{ name: a })`, 'Size of arguments too large'],
    [`${longTexts(100)}\n throw a`, 'Runtime error: ["xyyy'],
    [`${longTexts(1)}\n throw s`, 'Runtime error: xyyy'],
    [`${longTexts(1)}\n assert(false, s)`, 'Runtime error: xyyy'],
    [`${longTexts(1)}\n create(s, #{})`, 'validation_error'],
    [`${longTexts(1)}\n get("zone", s)`, 'validation_error'],
    [`${longTexts(1)}\n [1].map(Fn(s))`, 'Function not found: xyyy'],
    [`${longTexts(100)}\n print(a)`, 'Length of string too large'],
  ])('is small, or an error that is: %s', async (script, message) => {
    const answer = await run(script);
    expect([answer.status, answer.body.code]).toEqual([400, 'script_error']);
    expect(answer.body.message).toContain(message);
    expect(answer.text.length).toBeLessThan(64 * 1024);
    expect([answer.body.line, answer.body.column]).toEqual([2, expect.any(Number)]);
    expect(answer.body.details).toMatchObject([{ line: 2, column: answer.body.column }]);
  });

  it('may be a list of thousands of records', async () => {
    const answer = await run(
      'let a = []; for i in 0..5000 { a.push(#{ id: ulid(), name: "Door " + i, on: true }); } a',
    );
    expect([answer.status, (answer.body.result as unknown[]).length]).toEqual([200, 5000]);
  });

  it('is limited for all that a plan lists together', async () => {
    const answer = await run(
      'let s = "x"; s.pad(100000, "y"); for i in 0..100 { create("org", #{ name: "n", description: s }); }',
      { plan: true },
    );
    expect([answer.status, answer.text.length < 64 * 1024]).toEqual([400, true]);
  });
});

describe('a process that does not keep to the rules', { timeout: 240_000 }, () => {
  const workerFile = fileURLToPath(new URL('../../../test/support/faulty-script-worker.ts', import.meta.url));
  const runOf = (script: string): ScriptRun => ({
    job: { script, constants: {}, isPlan: false },
    callService: () => new Promise(() => undefined),
    isGone: () => false,
  });
  const outcomeOf = async (script: string, options: RunnerOptions = {}) => {
    const runner = createScriptRunner({ workerFile, ...options });
    const outcome = await runner.run(runOf(script));
    await runner.stop();
    return outcome;
  };

  it.each([
    ['announces', 'Size of message too large'],
    ['garbage', 'Size of message too large'],
    ['prints', 'Size of output too large'],
    ['calls', 'Script terminated'],
    ['hoards', 'Total size of values too large'],
  ])('is ended: %s', async (way, message) => {
    const outcome = await outcomeOf(way, { maxMemoryMb: 300 });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { message, kind: 'ErrorTerminated' } });
    expect(outcome.output.join('').length).toBeLessThan(2.2e6);
  });

  it('is not used again after it has grown, but otherwise it is', async () => {
    const runner = createScriptRunner({ workerFile });
    const pidOf = async (way: string) => {
      const outcome = await runner.run(runOf(way));
      return outcome.kind === 'done' ? outcome.value : null;
    };
    const first = await pidOf('ends');
    await vi.waitFor(async () => expect(await pidOf('ends')).toBe(first), scriptSoon);
    const grown = await pidOf('hoards and ends');
    expect(grown).toEqual(expect.any(Number));
    await vi.waitFor(() => expect(() => process.kill(grown as number, 0)).toThrow(/ESRCH/), scriptSoon);
    expect(await pidOf('ends')).not.toBe(grown);
    await runner.stop();
  });
});

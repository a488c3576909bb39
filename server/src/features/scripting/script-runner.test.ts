import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { soon } from '../../../test/support/eventually.ts';
import { type Script, scripting, scriptsOf } from '../../../test/support/script-requests.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId } from '../../../test/support/test-world.ts';
import { AppError } from '../../kernel/app-error.ts';
import { createScriptRunner, type ScriptRun } from './script-runner.ts';

const runOf = (script: string, more: Partial<ScriptRun> = {}): ScriptRun => ({
  job: { script, constants: {}, isPlan: false },
  callService: async () => null,
  isGone: () => false,
  ...more,
});

describe('the processes of scripts', { timeout: 240_000 }, () => {
  it('are ended wherever they are when nobody waits any more', async () => {
    const runner = createScriptRunner();
    let isGone = false;
    const callService = async () => {
      isGone = true;
      return null;
    };
    const script = 'print("on it"); get("a", "b"); sleep(30);';
    const running = runner.run(runOf(script, { isGone: () => isGone, callService }));
    expect(await running).toMatchObject({
      kind: 'failed',
      failure: { message: 'Script terminated' },
      output: ['on it'],
    });
    await runner.stop();
  });

  it('are ended when they do not come to an end in time, and a new one takes their place', async () => {
    const runner = createScriptRunner({ wallClockMs: 1500 });
    const late = await runner.run(runOf('sleep(30)'));
    expect(late).toMatchObject({ kind: 'failed', failure: { message: 'Script ran out of time' } });
    const next = createScriptRunner();
    expect(await next.run(runOf('1 + 1'))).toMatchObject({ kind: 'done', value: 2 });
    await Promise.all([runner.stop(), next.stop()]);
  });

  it('die alone when they need more memory than there is for them', async () => {
    const runner = createScriptRunner({ heapMb: 24 });
    const greedy = 'let a = []; for i in 0..90 { let s = "x"; s.pad(500000, "y"); a.push(s + i); } a.len()';
    const { kind } = await runner.run(runOf(greedy));
    expect(kind).toBe('failed');
    await runner.stop();
  });

  it('are not more than there may be', async () => {
    const runner = createScriptRunner({ maxWorkers: 1 });
    const first = runner.run(runOf('sleep(1); 1'));
    await expect(runner.run(runOf('1'))).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await first).toMatchObject({ kind: 'done' });
    expect(await runner.run(runOf('2'))).toMatchObject({ kind: 'done', value: 2 });
    await runner.stop();
  });

  it('hear of a fault of the service nothing but that there was one', async () => {
    const runner = createScriptRunner();
    const callService = async () => {
      throw new Error('the password of the database is hunter2');
    };
    await expect(runner.run(runOf('get("a", "b")', { callService }))).rejects.toThrow(/hunter2/);
    const refusing = async () => {
      throw new AppError('not_found', 'not found');
    };
    const outcome = await runner.run(runOf('\n get("a", "b")', { callService: refusing }));
    expect(outcome).toMatchObject({
      failure: { message: expect.stringMatching(/not_found/), line: 2, column: 2 },
    });
    await runner.stop();
  });

  it.each([0, 1, 500, 501, 1000, 2345])('hear all of a list of %i', async (length) => {
    const runner = createScriptRunner();
    const callService = async () => Array.from({ length }, (_, n) => n);
    const script = 'let all = list("a"); [all.len(), all == all.order(), list("a") == all]';
    const outcome = await runner.run(runOf(script, { callService }));
    expect(outcome).toMatchObject({ kind: 'done', value: [length, true, true] });
    await runner.stop();
  });

  it('end with the service, which takes no more', async () => {
    const runner = createScriptRunner();
    const running = runner.run(runOf('sleep(30)'));
    await runner.stop();
    expect(await running).toMatchObject({ failure: { message: 'the service is stopping' } });
    await expect(runner.run(runOf('1'))).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('share nothing with the script before them', async () => {
    const runner = createScriptRunner({ maxWorkers: 1 });
    await runner.run(runOf('let secret = 42; fn leak() { 1 } secret'));
    expect(await runner.run(runOf('secret'))).toMatchObject({ failure: { kind: 'ErrorVariableNotFound' } });
    expect(await runner.run(runOf('leak()'))).toMatchObject({ failure: { kind: 'ErrorFunctionNotFound' } });
    await runner.stop();
  });
});

describe('a script over HTTP', { timeout: 240_000 }, () => {
  let app: TestApp;
  let token: string;
  let run: Script;
  beforeAll(async () => {
    app = await startTestApp({ env: { HOST: '127.0.0.1', PORT: '0' } });
    await app.app.listen();
    const orgId = await app.world.org({ name: 'Left' });
    token = (await app.world.key(orgId, rootAdminId, scripting)).token;
    run = scriptsOf(app, token);
  });
  afterAll(() => app.close());

  it('ends when its client goes away, and its place is free', async () => {
    const { port } = app.app.http.server.address() as AddressInfo;
    const post = (script: string) => {
      const path = '/api/v1/scripting/execute';
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      return request({ port, path, method: 'POST', headers }).end(JSON.stringify({ script }));
    };
    const left = post('sleep(20); sleep(20)').on('error', () => undefined);
    const taken = () => app.db.query('select slot from script_slots');
    await vi.waitFor(async () => expect(await taken()).toHaveLength(1), soon);
    left.destroy();
    await vi.waitFor(async () => expect(await taken()).toHaveLength(0), soon);
    const [event] = await app.db.query<{ outcome: string }>(
      `select outcome from audit_events where event_type = 'scripting.executed'`,
    );
    expect(event?.outcome).toBe('failed');
    const [answer] = await once(post('7'), 'response');
    expect(answer.statusCode).toBe(200);
    answer.resume();
  });

  it('may be a megabyte of text, and not more', async () => {
    const text = `// ${'\n'.repeat(1_000_000)}`;
    expect((await run(`${text} 5`)).body.result).toBe(5);
    expect((await run(text + ' '.repeat(60_000))).status).toBe(400);
  });
});

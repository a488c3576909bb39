import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Script, scripting, scriptsOf } from '../../../test/support/script-requests.ts';
import { startTestApp, type TestApp } from '../../../test/support/test-app.ts';
import { rootAdminId } from '../../../test/support/test-world.ts';

describe('running a script', { timeout: 240_000 }, () => {
  let app: TestApp;
  let orgId: string;
  let run: Script;
  beforeAll(async () => {
    app = await startTestApp();
    orgId = await app.world.org({ name: 'Scripted' });
    run = scriptsOf(app, (await app.world.key(orgId, rootAdminId, scripting)).token);
  });
  afterAll(() => app.close());

  it('answers with the last value and what was printed', async () => {
    const answer = await run('print("one"); print(2); #{ a: [1, 2.5, "x", ()], b: true }');
    expect([answer.status, answer.body]).toEqual([
      200,
      { result: { a: [1, 2.5, 'x', null], b: true }, output: ['one', '2'] },
    ]);
  });

  it('keeps every digit of an integer', async () => {
    const answer = await run('[9223372036854775807, -9007199254740993]');
    expect(answer.text).toContain('"result":[9223372036854775807,-9007199254740993]');
  });

  it('knows the version marker and the kinds, in functions too', async () => {
    const answer = await run('fn seen() { [SERVICE, TYPES] } seen()');
    expect(answer.body.result).toEqual(['1', ['user', 'org', 'device', 'integration', 'zone', 'entity']]);
  });

  it('says where a script is wrong, and what it printed before', async () => {
    const answer = await run('print("before");\nlet x = 1;\n  x.nothing();');
    expect([answer.status, answer.body.code, answer.body.output]).toEqual([400, 'script_error', ['before']]);
    expect(answer.body.details).toMatchObject([{ path: '/script', line: 3, column: 5 }]);
    const parsed = await run('let = 5;');
    expect(parsed.body).toMatchObject({
      code: 'script_error',
      output: [],
      details: [{ line: 1, column: 5 }],
    });
  });

  it('leaves one event, with what tells the script from others but not its text', async () => {
    const done = await run('let password = "hunter2"; password.len');
    const failed = await run('throw "hunter2"');
    const events = await app.db.query<{ outcome: string; details: Record<string, unknown> }>(
      `select outcome, details from audit_events where event_type = 'scripting.executed' and correlation_id = any($1)
       order by id`,
      [[done.headers['x-request-id'], failed.headers['x-request-id']]],
    );
    expect(events).toMatchObject([
      { outcome: 'succeeded', details: { bytes: 38, plan: false, changes: 0 } },
      { outcome: 'failed', details: { bytes: 15, error: 'ErrorRuntime', line: 1 } },
    ]);
    expect(JSON.stringify(events)).not.toContain('hunter2');
  });

  it('sleeps for no time below zero, and for no time that is no number', async () => {
    expect((await run('sleep(-5); sleep(-0.5); sleep_ms(-1); 1')).body.result).toBe(1);
    for (const script of ['sleep(0.0 / 0.0)', 'sleep_ms(1.0 / 0.0)'])
      for (const plan of [true, false])
        expect((await run(script, { plan })).body).toMatchObject({
          message: expect.stringContaining('not a number'),
          line: 1,
          column: 1,
        });
  });

  it('stops at its limits and tells what was printed before', async () => {
    const endless = await run('print("here"); loop { }');
    expect(endless.body).toMatchObject({ code: 'script_error', output: ['here'] });
    expect(endless.body.message).toMatch(/Too many operations/);
    const doubling = await run('let s = "xxxxxxxx"; loop { s += s; }');
    expect(doubling.body.message).toMatch(/too large/);
    const deep = await run('fn down(n) { down(n + 1) } down(0)');
    expect(deep.body.message).toMatch(/Stack overflow/);
    const chatty = await run('let s = "x"; s.pad(100000, "x"); for i in 0..50 { print(s); }');
    expect(chatty.body.message).toMatch(/Size of output too large/);
  });
});

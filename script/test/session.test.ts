import { describe, expect, it } from 'vitest';
import { ScriptError } from '../src/errors.ts';
import { HostError, type HostFunction } from '../src/host.ts';
import { compile, run } from '../src/script.ts';
import { createSession } from '../src/session.ts';
import { fromJson, type Json, jsonText, toJson } from '../src/values/json.ts';

describe('a session', () => {
  const shell = () => {
    const session = createSession();
    return async (source: string) => toJson((await run(compile(source, { session }))).value);
  };

  it('keeps variables, constants and functions between inputs', async () => {
    const enter = shell();
    await enter('let a = [1]; const C = 5; fn twice(x) { x * 2 }');
    await enter('a.push(twice(C));');
    expect(await enter('a')).toEqual([1, 10]);
    await expect(enter('C = 6')).rejects.toThrow('Cannot assign to constant C');
  });

  it('shares a variable with the closures of earlier inputs', async () => {
    const enter = shell();
    await enter('let n = 0; let up = || { n += 1; n };');
    await enter('up.call(); n += 10;');
    expect(await enter('[up.call(), n]')).toEqual([12, 12]);
  });

  it('takes a new definition in place of the old one, and nothing of an input that does not parse', async () => {
    const enter = shell();
    await enter('fn f() { 1 } let x = 1;');
    await enter('fn f() { 2 } let x = "two";');
    await expect(enter('let x = 3; let y = ;')).rejects.toThrow(ScriptError);
    expect(await enter('[f(), x]')).toEqual([2, 'two']);
    await expect(enter('y')).rejects.toThrow('Variable not found: y');
  });

  it('keeps what an input did before it failed', async () => {
    const enter = shell();
    await expect(enter('let x = 1; x = 2; throw "no"; x = 3;')).rejects.toThrow('Runtime error: no');
    expect(await enter('x')).toBe(2);
  });
});

describe('the host', () => {
  const host = { echo: [['any']] } as const;
  const call = async (source: string, fn: HostFunction) =>
    (await run(compile(source, { host }), { host: { echo: fn } })).value;

  it('gets copies and gives copies', async () => {
    const kept: Json[] = [];
    const value = await call(
      'let a = [1]; let b = echo(a); a.push(2); b.push(3); [a, b, echo(a)]',
      ([list]) => {
        kept.push(list as Json);
        return list;
      },
    );
    expect(toJson(value)).toEqual([
      [1, 2],
      [1, 3],
      [1, 2],
    ]);
    expect(kept).toEqual([[1], [1, 2]]);
  });

  it('fails as a runtime error at the place of the call, with the text as the caught value', async () => {
    const fail = () => {
      throw new HostError('no such door', { code: 'not_found' });
    };
    await expect(call('let x = 1;\n  echo(x)', fail)).rejects.toMatchObject({
      message: 'Runtime error: no such door (line 2, position 3)',
      line: 2,
      column: 3,
    });
    expect(await call('let r = (); try { echo(1) } catch (e) { r = e.code; } r', fail)).toBe('not_found');
  });

  it('is found by the types of its arguments, after the functions of the script', async () => {
    const typed = { get: [['string', 'string']] } as const;
    const functions = { get: ([kind, id]: readonly Json[]) => `${String(kind)}/${String(id)}` };
    const answer = async (source: string) =>
      (await run(compile(source, { host: typed }), { host: functions })).value;
    expect(await answer('get("user", "1")')).toBe('user/1');
    expect(await answer('fn get(a, b) { "mine" } get("user", "1")')).toBe('mine');
    await expect(answer('get(1, 2.0)')).rejects.toThrow('Function not found: get (i64, f64)');
  });

  it('names a place for the caret even where the text has none', async () => {
    await expect(call('let x = 0;\nlet y = 1 / x;', () => null)).rejects.toMatchObject({
      message: 'Division by zero: 1 / 0',
      line: 2,
      column: 11,
    });
  });
});

describe('JSON', () => {
  it('keeps integers of 64 bits, unit as null, and the order of keys', () => {
    const json: Json = { b: 9007199254740993n, a: [1, 1.5, null, true, 'x'] };
    expect(jsonText(fromJson(json))).toBe('{"a":[1,1.5,null,true,"x"],"b":9007199254740993}');
    expect(toJson(fromJson(json))).toEqual(json);
  });

  it('takes own properties only', () => {
    const json = Object.create({ inherited: 1 }) as Record<string, unknown>;
    json.own = 2;
    expect(jsonText(fromJson(json))).toBe('{"own":2}');
  });
});

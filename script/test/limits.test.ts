import { describe, expect, it } from 'vitest';
import { ScriptError } from '../src/errors.ts';
import { defaultLimits } from '../src/limits.ts';
import { type CompileSettings, compile, type RunSettings, run } from '../src/script.ts';
import { toJson } from '../src/values/json.ts';

async function failureOf(
  source: string,
  settings: CompileSettings = {},
  runSettings: RunSettings = {},
): Promise<ScriptError> {
  try {
    await run(compile(source, settings), runSettings);
  } catch (error) {
    if (error instanceof ScriptError) return error;
    throw error;
  }
  throw new Error(`no failure: ${source}`);
}

async function operationsOf(source: string): Promise<number> {
  return (await run(compile(source))).operations;
}

describe('operations', () => {
  it.each([
    ['let x = 1;', 2],
    ['let x = 1; let y = 2; x + y', 8],
    ['let x = 1; x += 1;', 5],
    ['let x = 1; if x == 1 { 2 }', 8],
    ['fn f(a) { a } f(1)', 6],
    ['let m = #{ a: 1 }; m.a', 7],
    ['let a = [1]; a.push(2);', 9],
    ['let n = 0; for i in 0..10 { n += i; }', 2 + 1 + 3 + 30],
  ])('counts %s as the engine does', async (source, count) => {
    expect(await operationsOf(source)).toBe(count);
  });

  it.each([
    'loop { }',
    'while true { }',
    'let x = 0; loop { x += 1; }',
    'fn f() { loop { } } f()',
    '[1].map(|x| loop { })',
    'let a = []; a.pad(90000, 1); loop { a.contains(2) }',
    'let s = "x"; s.pad(1000000, "y"); loop { s.to_upper() }',
    'let a = []; a.pad(90000, 1); loop { let b = a + []; }',
    'let a = []; a.pad(50000, 1); loop { let b = a; b.push(1); }',
    'let a = []; a.pad(50000, 1); loop { a == a }',
    'let a = []; a.pad(90000, 1); loop { a.some(Fn("is_even")) }',
    'let s = "x"; s.pad(900000, "y"); let t = s + "a"; loop { t == s + "b" }',
    'let s = "x"; s.pad(900000, "y"); let m = #{}; let i = 0; loop { i += 1; m[s + i] }',
    'let s = "x"; s.pad(900000, "y"); let i = 0; loop { i += 1; (s + i).len() }',
    'for i in 0..9223372036854775807 { }',
    'for i in range(0, 9223372036854775807, 2) { }',
  ])('ends %s', async (source) => {
    expect((await failureOf(source)).kind).toMatch(/TooManyOperations|DataTooLarge/);
  });

  it('cannot be caught', async () => {
    expect((await failureOf('loop { try { loop { } } catch { } }')).kind).toBe('ErrorTooManyOperations');
  });
});

describe('sizes', () => {
  it.each([
    ['let s = "x"; loop { s += s; }', 'Length of string too large'],
    ['let s = "x"; s.pad(2000000, "y")', 'Length of string too large'],
    ['let s = "xx"; loop { s.replace("x", "xx"); }', 'Length of string too large'],
    [`let s = "x"; loop { s = \`\${s}\${s}\`; }`, 'Length of string too large'],
    ['let a = [1]; loop { a += a; }', 'Size of array/BLOB too large'],
    ['let a = []; a.pad(100001, 0)', 'Size of array/BLOB too large'],
    ['blob(100001)', 'Size of array/BLOB too large'],
    [`let m = #{}; for i in 0..20000 { m[\`k\${i}\`] = i; }`, 'Size of object map too large'],
  ])('stop %s', async (source, message) => {
    expect((await failureOf(source)).message).toContain(message);
  });

  it('stop many large values together, wherever they are kept', async () => {
    const build = 'let s = "x"; s.pad(500000, "y");';
    const sources = [
      `${build} let a = []; loop { a.push(s + a.len()); a[a.len() - 1].make_upper(); }`,
      `${build} let n = 0; let a = []; a.pad(1000, 0); a.map(|x| { n += 1; let t = s + n; t.make_upper(); t })`,
      `${build} let m = #{}; for i in 0..1000 { let t = s + i; t.make_upper(); m[\`k\${i}\`] = t; }`,
      `${build} loop { let t = s.to_upper(); print(t); }`,
    ];
    for (const source of sources) {
      const { message } = await failureOf(source, { limits: { operations: 5_000_000 } });
      expect(message, source).toContain('Total size of values too large');
    }
  });

  it('let a script make much more than it keeps', async () => {
    const source = 'let s = "x"; s.pad(500000, "y"); for i in 0..300 { let t = s + i; t.make_upper(); } 1';
    expect((await run(compile(source, { limits: { operations: 5_000_000 } }))).value).toBe(1);
  });

  it('refuse a source beyond 1 MiB and an expression beyond its depth', async () => {
    expect((await failureOf(`"${'x'.repeat(defaultLimits.sourceLength)}"`)).message).toContain('too large');
    expect((await failureOf('[[[[[1]]]]]', { limits: { expressionDepth: 12 } })).message).toContain(
      'complexity',
    );
  });

  it('refuse deep calls, also through built-ins', async () => {
    expect((await failureOf('fn f(n) { f(n + 1) } f(0)')).kind).toBe('ErrorStackOverflow');
    expect((await failureOf('fn f(n) { [n].map(|x| f(x))[0] } f(0)')).kind).toBe('ErrorStackOverflow');
    expect((await failureOf('fn f(n) { f(n) } f(0)', { limits: { callDepth: 1_000_000 } })).kind).toMatch(
      /StackOverflow|TooManyOperations/,
    );
  });
});

describe('nesting', () => {
  const deep = 'let a = []; for i in 0..20000 { a = [a]; }';

  it.each(['a == a', 'a.to_string()', `throw a`, 'let m = #{ a: a }; m.to_json()', 'echo(a)'])(
    'of values is no way to crash: %s',
    async (source) => {
      const host = { echo: [['any']] } as const;
      const functions = { echo: ([value]: readonly unknown[]) => value };
      expect((await failureOf(`${deep} ${source}`, { host }, { host: functions })).kind).toMatch(
        /StackOverflow|DataTooLarge/,
      );
    },
  );

  const nest = (count: number, wrap: (inner: string) => string, core: string) =>
    Array.from({ length: count }).reduce<string>((inner) => wrap(inner), core);

  // Each of these once doubled the work at every level.
  it.each([
    nest(20, (inner) => `x[h(${inner})]`, '0'),
    nest(30, (inner) => `x.set(${inner}, 1)`, '0'),
    nest(20, (inner) => `x[0] = { loop { ${inner}; break; } }`, 'x[0] = 1'),
    nest(25, (inner) => `switch 1 { 1 | 2 => { ${inner} } _ => 0 }`, '1'),
    nest(15, (inner) => `switch 1 { 1 | 2 if (${inner}) == 1 => 1, _ => 0 }`, '1'),
    'fn f() { f!(); f!(); || f!() } f!()',
  ])('of code does not make compiling long: %#', (source) => {
    expect(compile(`let x = [0]; ${source}`, { host: { h: [['any']] } })).toBeDefined();
  });

  it('of a result is refused when it leaves', async () => {
    const { value } = await run(compile(`${deep} a`));
    expect(() => toJson(value)).toThrow(ScriptError);
  });
});

describe('time', () => {
  const host = { wait: [[]] } as const;

  it('cancels a script that waits for the host', async () => {
    const controller = new AbortController();
    const functions = {
      wait: () => {
        setImmediate(() => controller.abort());
        return new Promise(() => undefined);
      },
    };
    const failure = await failureOf(
      'try { wait() } catch { } 1',
      { host },
      { host: functions, signal: controller.signal },
    );
    expect(failure.kind).toBe('ErrorTerminated');
  });

  it('cancels a script that is busy, because its loops let others run', async () => {
    const controller = new AbortController();
    setImmediate(() => controller.abort());
    const failure = await failureOf(
      'print("on"); loop { }',
      { limits: { operations: 2_000_000_000 } },
      { signal: controller.signal },
    );
    expect(failure).toMatchObject({ kind: 'ErrorTerminated', output: ['on'] });
  });

  it('ends a script at its wall clock, also asleep', async () => {
    const failure = await failureOf('sleep(100)', { limits: { wallClockMs: 20 } });
    expect(failure).toMatchObject({
      kind: 'ErrorTerminated',
      message: expect.stringContaining('out of time') as string,
    });
  });

  it('does not start a script that is already cancelled', async () => {
    const failure = await failureOf('sleep(0)', {}, { signal: AbortSignal.abort() });
    expect(failure.kind).toBe('ErrorTerminated');
  });
});

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

  it.each(['a == a', 'a.to_string()', 'let m = #{ a: a }; m.to_json()', 'echo(a)'])(
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

  it('of a thrown value is cut off in the text, and the script still catches the value', async () => {
    const failure = await failureOf(`${deep} throw a`);
    expect(failure).toMatchObject({ kind: 'ErrorRuntime', line: 1, column: deep.length + 2 });
    expect(failure.message).toMatch(/^Runtime error: \[+… \(line 1, position \d+\)$/);
    const { value } = await run(compile(`${deep} try { throw a } catch (e) { return e.len }`));
    expect(value).toBe(1);
  });

  it('of a result is refused when it leaves', async () => {
    const { value, place } = await run(compile(`${deep}\n a`));
    const leave = () => toJson(value, { place, maxBytes: 1_000_000 });
    expect(leave).toThrow(ScriptError);
    expect(leave).toThrow('Nesting of values too large (line 2, position 2)');
  });
});

const shared = 'let a = [0]; for i in 0..60 { a = [a, a]; }';
const longTexts = 'let s = "x"; s.pad(1000000, "y"); let a = []; for i in 0..2000 { a.push(s); }';

describe('a value that holds another in many places', () => {
  const host = { echo: [['any'], ['any', 'any']] } as const;
  const functions = { echo: ([value]: readonly unknown[]) => value };
  const refusals: [use: string, message: string][] = [
    ['a.to_string()', 'Length of string too large'],
    ['a.to_debug()', 'Length of string too large'],
    [`\`\${a}\``, 'Length of string too large'],
    ['"" + a', 'Length of string too large'],
    ['let t = ""; t += a; t', 'Length of string too large'],
    ['let t = ""; t.append(a); t', 'Length of string too large'],
    ['print(a)', 'Length of string too large'],
    ['debug(a)', 'Length of string too large'],
    ['let m = #{ a: a }; m.to_json()', 'Length of string too large'],
    ['let f = Fn("echo").curry(a); f.to_string()', 'Length of string too large'],
    ['echo(a)', 'Size of arguments too large'],
    ['echo(#{ a: a })', 'Size of arguments too large'],
    ['echo(1, a)', 'Size of arguments too large'],
  ];

  it.each([shared, longTexts].flatMap((build) => refusals.map((refusal) => [build, ...refusal] as const)))(
    'is not written out: %s %s',
    async (build, use, message) => {
      const failure = await failureOf(`${build}\n${use}`, { host }, { host: functions });
      expect(failure.message).toContain(message);
      expect(failure.line).toBe(2);
      expect(failure.column).toBeGreaterThan(0);
    },
  );

  it.each([shared, longTexts])('does not leave as a result: %s', async (build) => {
    const { value, place } = await run(compile(`${build}\n a`));
    const leave = () => toJson(value, { place, maxBytes: defaultLimits.resultBytes });
    expect(leave).toThrow('Size of result too large (line 2, position 2)');
  });

  it('does not leave through the name of a function either', async () => {
    const { value } = await run(
      compile('let s = "x"; s.pad(1000000, "y"); let a = []; a.pad(2000, Fn(s)); a'),
    );
    expect(() => toJson(value)).toThrow('Size of result too large');
  });

  it.each(['a', 's', '[s, a]', '#{ a: a }'])('is thrown with the beginning of its text: %s', async (what) => {
    const failure = await failureOf(`${longTexts}\nthrow ${what}`);
    expect(failure).toMatchObject({ kind: 'ErrorRuntime', line: 2, column: 1 });
    expect(failure.message).toMatch(/… \(line 2, position 1\)$/);
    expect(failure.message.length).toBeLessThan(defaultLimits.messageLength + 100);
  });

  it('leaves when it is small, with what it holds in each place', async () => {
    const { value } = await run(compile('let a = ["é\\n"]; for i in 0..3 { a = [a, a]; } a'));
    const pair = [['é\n'], ['é\n']];
    expect(toJson(value)).toEqual([
      [pair, pair],
      [pair, pair],
    ]);
  });
});

describe('what the host answers', () => {
  it('counts as memory of the script', async () => {
    const host = { load: [[]] } as const;
    const functions = { load: () => Array.from({ length: 1000 }, (_, n) => `${n}${'x'.repeat(1000)}`) };
    const failure = await failureOf('let a = [];\nloop { a.push(load()); }', { host }, { host: functions });
    expect(failure).toMatchObject({ kind: 'ErrorDataTooLarge', line: 2 });
    const passing = compile('for i in 0..100 { load(); } 1', { host });
    expect((await run(passing, { host: functions })).value).toBe(1);
  });
});

describe('every limit', () => {
  it.each([
    'let s = "a"; for i in 0..30 {\n s += s; }',
    'let s = "a"; for i in 0..30 {\n s = s + s; }',
    'let s = "a"; fn f(s) { s + s } for i in 0..30 {\n s = f(s); }',
    'let a = [1]; for i in 0..30 {\n a += a; }',
    'let a = [1]; for i in 0..30 {\n a = a + a; }',
    `let m = #{}; for i in 0..20000 {\n m[\`k\${i}\`] = i; }`,
    `let m = #{ x: #{} }; for i in 0..20000 {\n m.x[\`k\${i}\`] = i; }`,
    `let m = #{}; for i in 0..20000 {\n m += parse_json(\`{"k\${i}": 1}\`); }`,
    'let b = blob(50000);\n b += b; b += b;',
    `let s = "a"; s.pad(600000, "b");\n let t = \`\${s}\${s}\`;`,
    'let s = "a"; s.pad(600000, "b"); let t = "" +\n (s + s);',
    'let a = []; a.pad(90000, 1); loop {\n let b = a; b[0] = 1; }',
    'let s = "a"; s.pad(900000, "b"); loop {\n switch s + "a" { "x" => 1 } }',
    'let s = "a"; s.pad(900000, "b"); let n = 0; loop {\n n += 1; if (s + n) < s { break; } }',
  ])('says where it was met: %s', async (source) => {
    const failure = await failureOf(source);
    expect(failure.kind).toMatch(/DataTooLarge|TooManyOperations/);
    expect([failure.line, failure.column > 0]).toEqual([2, true]);
  });

  it('holds for texts that are put together and not read', async () => {
    const failure = await failureOf(
      'let s = "x"; s.pad(1000000, "y"); let a = [];\nfor i in 0..100 { a.push(s + i); } a.len()',
    );
    expect(failure).toMatchObject({ kind: 'ErrorDataTooLarge', line: 2 });
    expect(failure.message).toContain('Total size of values too large');
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

import { describe, expect, it } from 'vitest';
import { ScriptError } from '../src/errors.ts';
import { compile, run } from '../src/script.ts';
import type { Json } from '../src/values/json.ts';
import { Kind, type Value } from '../src/values/value.ts';

// Names that mean something in JavaScript, at all the places where a script may put a name or a text.

const words = [
  'constructor',
  '__proto__',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  'toLocaleString',
  '__defineGetter__',
  '__defineSetter__',
  '__lookupGetter__',
  '__lookupSetter__',
  'caller',
  'callee',
  'arguments',
  'apply',
  'bind',
  'then',
  'catch_',
  'process',
  'globalThis',
  'require',
  'Function',
  'Object',
  'Symbol',
  'Reflect',
  'Proxy',
  'Promise',
  'Buffer',
  'module_',
  'items',
  'entries',
  'shared_',
  'closure',
  'compiled',
  'definition',
  'run',
  'get',
  'k',
  'v',
  'length',
  'sorted',
  'limits',
];

const templates: readonly ((word: string) => string)[] = [
  (word) => word,
  (word) => `${word}()`,
  (word) => `${word}("return process")`,
  (word) => `let m = #{}; m.${word}`,
  (word) => `let m = #{}; m["${word}"]`,
  (word) => `let m = #{}; m["${word}"] = 1; m["${word}"]`,
  (word) => `let m = #{}; m["${word}"] = #{ polluted: true }; let n = #{}; n.polluted`,
  (word) => `let m = #{ "${word}": |x| this }; m.${word}(1)`,
  (word) => `let s = "x"; s.${word}`,
  (word) => `let s = "x"; s.${word}("y")`,
  (word) => `[1].${word}`,
  (word) => `[1].${word}(|x| x)`,
  (word) => `[1].map("${word}")`,
  (word) => `let f = |x| x; f.${word}`,
  (word) => `let f = |x| x; f.${word}()`,
  (word) => `let f = |x| x; f.call.${word}`,
  (word) => `Fn("${word}").call(1)`,
  (word) => `Fn("${word}").call()`,
  (word) => `let x = 1; x.${word} = 2; x`,
  (word) => `1.5.${word}`,
  (word) => `'c'.${word}`,
  (word) => `(1..3).${word}`,
  (word) => `().${word}`,
  (word) => `timestamp().${word}`,
  (word) => `blob(2).${word}`,
  (word) => `host(#{ "${word}": 1 })`,
  (word) => `host("${word}").${word}`,
  (word) => `try { host_fail("${word}") } catch (e) { e.${word} }`,
  (word) => `try { nope() } catch (e) { e.${word} }`,
  (word) => `try { throw #{ "${word}": 1 } } catch (e) { e.${word} }`,
  (word) => `fn ${word}() { this } 1.${word}()`,
  (word) => `fn ${word}.f() { this } 1.f()`,
  (word) => `let ${word} = 1; ${word}.${word}`,
  (word) => `switch "${word}" { "${word}" => 1, _ => 2 }`,
  (word) => `parse_json(\`{"${word}": {"x": 1}}\`).${word}`,
  (word) => `global::${word}`,
  (word) => `${word}::${word}`,
  (word) => `is_def_var("${word}") || is_def_fn("${word}", 0)`,
];

const kinds: ReadonlySet<unknown> = new Set(Object.values(Kind));

/** Everything a script can end up with is one of the language's own values, all the way down. */
function isScriptValue(value: Value): boolean {
  if (typeof value !== 'object') return typeof value !== 'function' && typeof value !== 'symbol';
  if (value === null || !kinds.has(value.k)) return false;
  if (value.k === Kind.array) return value.items.every(isScriptValue);
  if (value.k === Kind.map) return [...value.entries.values()].every(isScriptValue);
  return value.k !== Kind.fn || value.curried.every(isScriptValue);
}

const seen: Json[] = [];
const host = { host: [['any']], host_fail: [['string']] } as const;
const functions = {
  host: ([value]: readonly Json[]) => {
    seen.push(value ?? null);
    return value;
  },
  host_fail: ([text]: readonly Json[]) => {
    throw new TypeError(String(text));
  },
};

async function attempt(source: string): Promise<'value' | 'error'> {
  try {
    const { value } = await run(compile(source, { host }), { host: functions });
    expect(isScriptValue(value), source).toBe(true);
    return 'value';
  } catch (error) {
    if (!(error instanceof ScriptError)) throw new Error(`a crash on ${source}`, { cause: error });
    expect(isScriptValue(error.thrown), source).toBe(true);
    return 'error';
  }
}

const attempts = words.flatMap((word) => templates.map((template) => template(word)));

describe('no script reaches an object of the host', () => {
  it(`in ${attempts.length} attempts by name`, async () => {
    expect(attempts.length).toBeGreaterThanOrEqual(300);
    const before = Object.getOwnPropertyNames(Object.prototype);
    const outcomes = { value: 0, error: 0 };
    for (const source of attempts) outcomes[await attempt(source)] += 1;
    console.info(`${attempts.length} escape attempts: ${JSON.stringify(outcomes)}`);
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('hands the host maps without a prototype, where __proto__ is a key like any other', async () => {
    seen.length = 0;
    await attempt('host(#{ "__proto__": #{ admin: true }, "constructor": 1 })');
    const [given] = seen as [Record<string, Json>];
    expect(Object.getPrototypeOf(given)).toBeNull();
    expect(Object.keys(given)).toEqual(['__proto__', 'constructor']);
    expect((given as { admin?: Json }).admin).toBeUndefined();
  });

  it.each([
    ['eval("1")', "'eval' is a reserved keyword"],
    ['import "fs" as fs;', 'Module not found: fs'],
    ['let f = Fn("eval"); f.call("1")', 'Function not found: eval'],
    ['let e = "eval"; e.call("1")', 'Data type incorrect'],
  ])('refuses %s', async (source, text) => {
    await expect(async () => run(compile(source))).rejects.toThrow(text);
  });

  it.each([
    '[0].map("sl" + "eep")',
    'let n = "ho"; n += "st"; [1, 2].map(n)',
    'let n = "ho"; n += "st"; fn f(n) { [1].filter(n) } f(n)',
    'let n = "sleep"; let a = [0]; a.sort(n); a',
    'let f = Fn("sl" + "eep"); [f.call(0), f]',
    'let m = #{ f: Fn("ho" + "st") }; m.f(1)',
  ])('gets no promise from a name put together at run time: %s', async (source) => {
    await attempt(source);
  });

  it('keeps the stack and the class of a host error to itself', async () => {
    const { value } = await run(
      compile('let r = (); try { host_fail("x") } catch (e) { r = e; } r', { host }),
      {
        host: functions,
      },
    );
    expect(value).toBe('x');
  });
});

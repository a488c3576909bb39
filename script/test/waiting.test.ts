import { describe, expect, it } from 'vitest';
import { ScriptError } from '../src/errors.ts';
import { compile, run } from '../src/script.ts';
import { toDebug } from '../src/values/text.ts';
import { generateScript } from './support/grammar.ts';
import { createRandom } from './support/random.ts';

const host = { h: [['any']], pass_by: [[]] } as const;

/** The identity, answered at once, in a microtask, or after a turn of the event loop. */
function createHost(delays: boolean) {
  let calls = 0;
  return {
    pass_by: () => (calls++ % 2 === 0 ? null : Promise.resolve(null)),
    h: ([value]: readonly unknown[]) => {
      calls += 1;
      if (!delays || calls % 3 === 0) return value;
      if (calls % 3 === 1) return Promise.resolve(value);
      return new Promise((resolve) => setImmediate(() => resolve(value)));
    },
  };
}

interface Outcome {
  readonly value?: string;
  readonly error?: string;
  readonly output: readonly string[];
}

async function outcomeOf(source: string, isHost: boolean): Promise<Outcome> {
  const text = isHost ? source : `${source.replace(/;\s*$/, '')};\nfn h(x) { x }\nfn pass_by() { }`;
  try {
    const script = compile(text, isHost ? { host } : {});
    const { value, output } = await run(script, { host: createHost(true) });
    return { value: toDebug(value), output };
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    return { error: error.message, output: error.output };
  }
}

// `h(…)` at every place where a call can stand.
const places: readonly (readonly [string, string])[] = [
  ['arguments', 'fn add(a, b) { a + b } add(h(1), h(2)) + max(h(3), 4)'],
  ['conditions', 'let n = 0; if h(true) { n += 1 } else { n += 2 } n + if h(false) { 1 } else { 10 }'],
  ['while conditions', 'let n = 0; while h(n < 5) { n += 1; if n == 3 { continue; } } n'],
  ['do conditions', 'let n = 0; do { n += 1; } until h(n > 3); n'],
  ['loops with break values', 'let x = loop { if h(true) { break h(7); } }; x'],
  ['for iterables and bodies', 'let s = 0; for (x, i) in h([1, 2, 3]) { s += h(x) * i; } s'],
  ['interpolations', `\`a\${h(1)}b\${h("x") + h("y")}\``],
  ['array and map literals', '[h(1), #{ a: h([2]), b: h("c") }]'],
  ['indices', 'let a = [1, 2, 3]; a[h(1)] = h(9); a[h(0)] += h(1); [a, a[h(-1)]]'],
  ['chains', 'let m = #{ l: [#{ t: [] }] }; m.l[h(0)].t.push(h(5)); m.l[h(0)].t[h(0)]'],
  ['receivers of methods', 'h([3, 1, 2]).len() + h("abc").sub_string(h(1)).len()'],
  ['logic', 'h(true) && h(false) || h(true)'],
  ['coalescing', 'h(()) ?? h(5)'],
  ['switch', 'switch h(3) { 1 => h("a"), 2..5 if h(true) => h("b"), _ => h("c") }'],
  ['try and catch', 'let r = []; try { r.push(h(1)); throw h(2); } catch (e) { r.push(h(e)); } r'],
  [
    'throw inside functions',
    'fn f(x) { if h(x) > 1 { throw h("big") } h(x) } let r = ""; try { f(2) } catch (e) { r = e; } [f(1), r]',
  ],
  ['closures', 'let n = 0; let f = |x| { n += h(x); n }; [f.call(1), f.call(2), n]'],
  ['map', '[1, 2, 3].map(|x| h(x) * 2)'],
  ['filter', '[1, 2, 3, 4].filter(|x| h(x % 2 == 0))'],
  ['reduce', '[1, 2, 3].reduce(|s, x| h(s) + h(x), 0)'],
  ['sort', 'let a = [3, 1, 4, 1, 5, 9, 2, 6]; a.sort(|x, y| h(x - y)); a'],
  ['sort with failures', 'let a = [3, 1, 2]; a.sort(|x, y| { h(1); throw "x" }); a'],
  ['find, some, all', '[[1, 2].find(|x| h(x > 1)), [1].some(|x| h(true)), [1].all(|x| h(false))]'],
  ['for_each with this', 'let a = [1, 2]; a.for_each(|| this += h(10)); a'],
  ['map values', '#{ a: 1, b: 2 }.map(|k, v| h(v) + 1)'],
  ['drain and retain', 'let a = [1, 2, 3]; [a.drain(|x| h(x == 2)), a.retain(|x| h(x == 1)), a]'],
  ['methods held by maps', 'let o = #{ n: 1, up: || { this.n += h(1); this.n } }; [o.up(), o.up(), o.n]'],
  ['this of script functions', 'fn inc(by) { this += h(by); this } let x = 1; [x.inc(2), x]'],
  ['pointers by name', '[1, 2].map(Fn("h"))'],
  ['callbacks by name', '[1, 2].map("h")'],
  ['recursion', 'fn fib(n) { if h(n) < 2 { n } else { fib(n - 1) + fib(n - 2) } } fib(8)'],
  ['returns out of expressions', 'fn f() { let x = { if h(true) { return h(4); } 5 }; x + 1 } f()'],
  [
    'assignment of shared containers',
    'let a = [1]; let b = h(a); b.push(2); let c = a; c.push(h(3)); [a, b, c]',
  ],
  ['curried pointers', 'let f = |a, b| h(a) - h(b); f.curry(h(10)).call(3)'],
  ['errors in callbacks', '[1, 0].map(|x| 1 / h(x))'],
];

describe('a host call gives the same as a function of the script', () => {
  it.each(places)('in %s', async (_, source) => {
    expect(await outcomeOf(source, true)).toEqual(await outcomeOf(source, false));
  });

  it('in random scripts with calls wrapped around their operands', async () => {
    const seed = Number(process.env.SCRIPT_FUZZ_SEED ?? Date.now() % 2 ** 31);
    const random = createRandom(seed);
    let compared = 0;
    for (let i = 0; compared < 700 && i < 20_000; i++) {
      const plain = generateScript(random);
      // A block with a call of the host in front of it, around operands in parentheses.
      const source = plain.replaceAll(/(?<![\w!])\(([^()|]+)\)/g, (whole, inner: string) =>
        random.below(2) === 0 ? `({ pass_by(); ${inner} })` : whole,
      );
      if (source === plain || /timestamp/.test(source)) continue;
      const waiting = await outcomeOf(source, true);
      if (waiting.error?.startsWith('Syntax error') === true) continue;
      const direct = await outcomeOf(source, false);
      const isLimit = [waiting, direct].some(({ error }) => /Too many|overflow|too large/.test(error ?? ''));
      if (isLimit) continue;
      compared += 1;
      expect(withoutCalls(waiting), `seed ${seed}: ${source}`).toEqual(withoutCalls(direct));
    }
    console.info(`waiting: ${compared} random scripts compared, seed ${seed}`);
    expect(compared).toBeGreaterThan(200);
  });
});

/** A call of the host adds no line to a trace, and copies what goes through it. */
const withoutCalls = (outcome: Outcome): Outcome => ({
  ...outcome,
  ...(outcome.error !== undefined && { error: outcome.error.split('\n')[0]?.replace(/ \(line.*/, '') ?? '' }),
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ScriptError } from '../src/errors.ts';
import { compile, run } from '../src/script.ts';
import { generateScript, mutate } from './support/grammar.ts';
import { createRandom } from './support/random.ts';

/** 5,000,000 with `npm test -w script -- --full`; SCRIPT_FUZZ_SEED replays a run. */
const inputs = Number(process.env.SCRIPT_FUZZ_INPUTS ?? 200_000);
const seed = Number(process.env.SCRIPT_FUZZ_SEED ?? Date.now() % 2 ** 31);
const shards = 4;
const corpus = readFileSync(join(import.meta.dirname, 'script-cases.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => (JSON.parse(line) as { script: string }).script)
  .filter((script) => script.length < 300);

const limits = {
  operations: 1_500,
  arrayLength: 500,
  mapSize: 500,
  stringLength: 5_000,
  memoryBytes: 500_000,
};
const host = { host: [['any'], []] } as const;
const functions = { host: ([value]: readonly unknown[]) => value ?? null };

type Outcome = 'value' | 'syntax' | 'failed';

/** Anything but a value or a `ScriptError` is a crash; a hang runs into the limit of the test. */
async function feed(source: string): Promise<Outcome> {
  try {
    await run(compile(source, { limits, host }), { host: functions });
    return 'value';
  } catch (error) {
    if (error instanceof ScriptError) return error.kind === 'ErrorParsing' ? 'syntax' : 'failed';
    throw new Error(`a crash on ${JSON.stringify(source)}`, { cause: error });
  }
}

describe('no input crashes or hangs the engine', () => {
  it.concurrent.each(Array.from({ length: shards }, (_, shard) => shard))(
    'shard %i',
    async (shard) => {
      const random = createRandom(seed + shard);
      const counts = { value: 0, syntax: 0, failed: 0 };
      for (let i = 0; i < inputs / shards; i++) {
        const kind = random.below(3);
        const base = kind === 0 ? random.pick(corpus) : generateScript(random);
        counts[await feed(kind === 1 ? base : mutate(random, base))] += 1;
        // The reporter wants its turn too.
        if (i % 5_000 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      console.info(`fuzz seed ${seed} shard ${shard}: ${JSON.stringify(counts)}`);
      expect(Math.min(counts.value, counts.syntax, counts.failed)).toBeGreaterThan(inputs / shards / 50);
    },
    Math.max(300_000, inputs * 3),
  );
});

import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { compile, run } from '@lintel/script/script';
import { jsonText } from '@lintel/script/values/json';

interface BenchScript {
  readonly name: string;
  /** The median of the native engine on a machine of this kind, in milliseconds. */
  readonly nativeMs: number;
  readonly result: string;
  readonly source: string;
}

/** Limits stay on and are counted; only the amounts are raised, as these scripts are long on purpose. */
const limits = {
  operations: 1_000_000_000,
  callDepth: 10_000,
  arrayLength: 1_000_000,
  memoryBytes: 1024 ** 3,
};
const runs = 15;
const warmUps = 3;

/** The scripts of the native engine's table, with the same limits on and the results compared. */
export async function benchScript(): Promise<void> {
  const scripts = JSON.parse(
    readFileSync(join(import.meta.dirname, 'script-bench.json'), 'utf8'),
  ) as BenchScript[];
  const [cpu] = cpus();
  console.info(
    `${cpus().length} × ${cpu?.model ?? 'unknown'}, Node ${process.version}, median of ${runs} runs`,
  );
  console.info('script           ms      min   native   ratio  operations');
  const ratios: { name: string; ratio: number }[] = [];
  for (const script of scripts) ratios.push(await measure(script));
  const mean = Math.exp(ratios.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / ratios.length);
  const worst = ratios.reduce((a, b) => (b.ratio > a.ratio ? b : a));
  console.info(
    `geometric mean ${mean.toFixed(3)} × native (target 0.5), worst ${worst.name} ${worst.ratio.toFixed(2)} × (target 2)`,
  );
}

async function measure({ name, nativeMs, result, source }: BenchScript) {
  const script = compile(source, { limits });
  const times: number[] = [];
  let operations = 0;
  for (let i = 0; i < runs + warmUps; i++) {
    const start = performance.now();
    const outcome = await run(script);
    if (i >= warmUps) times.push(performance.now() - start);
    operations = outcome.operations;
    if (jsonText(outcome.value) !== result)
      throw new Error(`${name} answered ${jsonText(outcome.value)}, not ${result}`);
  }
  times.sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? 0;
  const ratio = median / nativeMs;
  const columns = [
    name.padEnd(13),
    median.toFixed(2).padStart(7),
    (times[0] ?? 0).toFixed(2).padStart(8),
    nativeMs.toFixed(1).padStart(8),
    ratio.toFixed(2).padStart(7),
    String(operations).padStart(11),
  ];
  console.info(columns.join(' '));
  return { name, ratio };
}

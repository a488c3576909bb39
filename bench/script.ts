import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { compile, run, type Script } from '@lintel/script/script';
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
const samples = 15;
const warmUps = 3;
/** A sample of a short script is several runs, for the clocks are coarse. */
const sampleMs = 25;

interface Ratio {
  readonly name: string;
  readonly wall: number;
  readonly cpu: number;
}

/** The scripts of the native engine's table, limits on, results compared. */
export async function benchScript(): Promise<void> {
  const file = join(import.meta.dirname, 'script-bench.json');
  const scripts = JSON.parse(readFileSync(file, 'utf8')) as BenchScript[];
  const load = (loadavg()[0] ?? 0).toFixed(1);
  console.info(
    `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}, load ${load}; medians of ${samples} samples`,
  );
  console.info('script         wall ms   min ms   CPU ms   native  wall ×   CPU ×  operations');
  const ratios: Ratio[] = [];
  for (const script of scripts) ratios.push(await measure(script));
  console.info(`${summary('wall clock', ratios, 'wall')}\n${summary('CPU time', ratios, 'cpu')}`);
  console.info('On a machine with other work the CPU time is the one to read.');
}

function summary(title: string, ratios: readonly Ratio[], by: 'wall' | 'cpu'): string {
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio[by]), 0) / ratios.length);
  const worst = ratios.reduce((a, b) => (b[by] > a[by] ? b : a));
  return `${title}: geometric mean ${mean.toFixed(3)} × native (target 0.5), worst ${worst.name} ${worst[by].toFixed(2)} × (target 2)`;
}

async function measure({ name, nativeMs, result, source }: BenchScript): Promise<Ratio> {
  const script = compile(source, { limits });
  const repeats = Math.max(1, Math.ceil(sampleMs / nativeMs));
  const wall: number[] = [];
  const cpu: number[] = [];
  let operations = 0;
  for (let i = 0; i < samples + warmUps; i++) {
    const used = process.threadCpuUsage();
    const start = performance.now();
    for (let n = 0; n < repeats; n++) operations = await runOnce(script, name, result);
    const { user, system } = process.threadCpuUsage(used);
    if (i < warmUps) continue;
    wall.push((performance.now() - start) / repeats);
    cpu.push((user + system) / 1000 / repeats);
  }
  const ratio = { name, wall: median(wall) / nativeMs, cpu: median(cpu) / nativeMs };
  const numbers = [median(wall), Math.min(...wall), median(cpu), nativeMs].map((ms) =>
    ms.toFixed(2).padStart(8),
  );
  const ratios = [ratio.wall, ratio.cpu].map((each) => each.toFixed(2).padStart(7));
  console.info([name.padEnd(13), ...numbers, ...ratios, String(operations).padStart(11)].join(' '));
  return ratio;
}

async function runOnce(script: Script, name: string, result: string): Promise<number> {
  const { value, operations } = await run(script);
  if (jsonText(value) !== result) throw new Error(`${name} answered ${jsonText(value)}, not ${result}`);
  return operations;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

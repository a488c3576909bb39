import type { Value } from '../values/value.ts';
import type { Frame, Run, Runtime, RunWaiting } from './runtime.ts';

/**
 * A compiled node. What cannot reach a host function is a plain synchronous closure; the rest may answer with a
 * promise, and only does when a host function was really waited for.
 */
export type Code =
  | { readonly waits: false; readonly run: Run; readonly cost: number; readonly jumps: boolean }
  | { readonly waits: true; readonly run: RunWaiting; readonly cost: number; readonly jumps: boolean };

export const plain = (run: Run, cost: number, jumps = false): Code => ({ waits: false, run, cost, jumps });
export const waiting = (run: RunWaiting, cost: number, jumps = false): Code => ({
  waits: true,
  run,
  cost,
  jumps,
});

export const isPromise = (value: unknown): value is Promise<Value> => value instanceof Promise;

/** Goes on with a value that may still be coming. */
export const whenReady = (
  value: Value | Promise<Value>,
  next: (value: Value) => Value | Promise<Value>,
): Value | Promise<Value> => (isPromise(value) ? value.then(next) : next(value));

export const totalCost = (codes: readonly Code[]): number => codes.reduce((sum, code) => sum + code.cost, 0);

/** Evaluates operands from left to right, then applies `apply`, which may wait itself. */
export function withOperands(
  operands: readonly Code[],
  cost: number,
  apply: (rt: Runtime, s: Frame, values: Value[]) => Value | Promise<Value>,
  applyWaits: boolean,
): Code {
  const total = totalCost(operands) + cost;
  const runs = operands.map((operand) => operand.run);
  if (!applyWaits && operands.every((operand) => !operand.waits))
    return plain((rt, s) => {
      const values: Value[] = [];
      for (const run of runs) values.push(run(rt, s) as Value);
      return apply(rt, s, values) as Value;
    }, total);
  return waiting((rt, s) => evaluate(rt, s, runs, [], apply), total);
}

function evaluate(
  rt: Runtime,
  s: Frame,
  runs: readonly RunWaiting[],
  values: Value[],
  apply: (rt: Runtime, s: Frame, values: Value[]) => Value | Promise<Value>,
): Value | Promise<Value> {
  for (let i = values.length; i < runs.length; i++) {
    const value = (runs[i] as RunWaiting)(rt, s);
    if (isPromise(value))
      return value.then((ready) => {
        values.push(ready);
        return evaluate(rt, s, runs, values, apply);
      });
    values.push(value);
  }
  return apply(rt, s, values);
}

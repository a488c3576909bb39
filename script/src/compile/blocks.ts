import { inStatement } from '../errors.ts';
import { tooManyOperations } from '../meter.ts';
import type { BlockNode, IfNode, Statement } from '../parser/ast.ts';
import type { Position } from '../position.ts';
import type { Value } from '../values/value.ts';
import { type Code, isPromise, plain, totalCost, waiting, whenReady } from './code.ts';
import type { Context } from './context.ts';
import { compileCondition } from './logic.ts';
import { Flow, type Frame, type Run, type Runtime, type RunWaiting } from './runtime.ts';

/** Takes operations before work is done; the place is for the error only. */
export function pay(rt: Runtime, cost: number, position: Position): void {
  rt.left -= cost;
  if (rt.left < 0) throw tooManyOperations(position);
}

/** A block pays for its statements; its own cost is nothing. */
export function compileBlock(node: BlockNode, context: Context): Code {
  const codes = node.statements.map((statement: Statement) =>
    context.compile(statement, { ...context, borrow: false }),
  );
  const jumps = codes.some((code) => code.jumps);
  if (codes.some((code) => code.waits)) return waiting(waitingBlock(codes, node), 0, jumps);
  const runs = codes.map((code) => code.run as Run);
  return plain(jumps ? jumpingBlock(codes, node) : straightBlock(runs, totalOf(codes), node), 0, jumps);
}

const totalOf = (codes: readonly Code[]): number => Math.max(1, totalCost(codes) + codes.length);

const placeOf = (node: BlockNode): Position => node.statements[0]?.position ?? node.position;

const placesOf = (node: BlockNode): readonly Position[] => node.statements.map(({ position }) => position);

/** Nothing in it leaves the block half-way: it is paid for at once. */
function straightBlock(runs: readonly Run[], cost: number, node: BlockNode): Run {
  const position = placeOf(node);
  const places = placesOf(node);
  const [first, second, third] = runs;
  if (first === undefined)
    return (rt) => {
      pay(rt, cost, position);
      return undefined;
    };
  if (second === undefined)
    return (rt, s) => {
      rt.left -= cost;
      if (rt.left < 0) throw tooManyOperations(position);
      try {
        return first(rt, s);
      } catch (error) {
        throw inStatement(error, position);
      }
    };
  if (third === undefined)
    return (rt, s) => {
      rt.left -= cost;
      if (rt.left < 0) throw tooManyOperations(position);
      let at = 0;
      try {
        first(rt, s);
        at = 1;
        return second(rt, s);
      } catch (error) {
        throw inStatement(error, places[at] as Position);
      }
    };
  const last = runs.length - 1;
  return (rt, s) => {
    rt.left -= cost;
    if (rt.left < 0) throw tooManyOperations(position);
    let i = 0;
    try {
      for (; i < last; i++) (runs[i] as Run)(rt, s);
      return (runs[last] as Run)(rt, s);
    } catch (error) {
      throw inStatement(error, places[i] as Position);
    }
  };
}

function jumpingBlock(codes: readonly Code[], node: BlockNode): Run {
  const position = placeOf(node);
  const [only, second] = codes;
  if (only !== undefined && second === undefined) {
    const run = only.run as Run;
    const cost = only.cost + 1;
    return (rt, s) => {
      rt.left -= cost;
      if (rt.left < 0) throw tooManyOperations(position);
      try {
        return run(rt, s);
      } catch (error) {
        throw inStatement(error, position);
      }
    };
  }
  const runs = codes.map((code) => code.run as Run);
  const costs = codes.map((code) => code.cost + 1);
  const places = placesOf(node);
  return (rt, s) => {
    let value: Value;
    let i = 0;
    try {
      for (; i < runs.length; i++) {
        rt.left -= costs[i] as number;
        if (rt.left < 0) throw tooManyOperations(position);
        value = (runs[i] as Run)(rt, s);
        if (rt.flow !== Flow.on) return value;
      }
    } catch (error) {
      throw inStatement(error, places[i] as Position);
    }
    return value;
  };
}

function waitingBlock(codes: readonly Code[], node: BlockNode): RunWaiting {
  const position = placeOf(node);
  const places = placesOf(node);
  const begin = (rt: Runtime, s: Frame, i: number): Value | Promise<Value> => {
    const code = codes[i] as Code;
    pay(rt, code.cost + 1, position);
    const failed = (error: unknown): never => {
      throw inStatement(error, places[i] as Position);
    };
    try {
      const result = code.run(rt, s);
      return isPromise(result) ? result.catch(failed) : result;
    } catch (error) {
      return failed(error);
    }
  };
  const run = (rt: Runtime, s: Frame, from: number): Value | Promise<Value> => {
    let value: Value;
    for (let i = from; i < codes.length; i++) {
      const result = begin(rt, s, i);
      if (isPromise(result))
        return result.then((ready) =>
          rt.flow !== Flow.on || i + 1 === codes.length ? ready : run(rt, s, i + 1),
        );
      if (rt.flow !== Flow.on) return result;
      value = result;
    }
    return value;
  };
  return (rt, s) => run(rt, s, 0);
}

export function compileIf(node: IfNode, context: Context): Code {
  const condition = compileCondition(node.condition, context);
  const yes = context.compileBlock(node.then, context);
  const no = node.otherwise === null ? null : context.compile(node.otherwise, context);
  const jumps = yes.jumps || no?.jumps === true;
  const extra = node.otherwise?.type === 'if' ? (no?.cost ?? 0) : 0;
  const cost = condition.cost + extra;
  if (condition.waits || yes.waits || no?.waits === true)
    return waiting(
      (rt, s) => whenReady(condition.run(rt, s), (value) => (value ? yes.run(rt, s) : no?.run(rt, s))),
      cost,
      jumps,
    );
  const test = condition.run;
  const a = yes.run;
  if (no === null) return plain((rt, s) => (test(rt, s) ? a(rt, s) : undefined), cost, jumps);
  const b = no.run as Run;
  return plain((rt, s) => (test(rt, s) ? a(rt, s) : b(rt, s)), cost, jumps);
}

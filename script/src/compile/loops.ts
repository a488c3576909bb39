import { createFault } from '../errors.ts';
import { spend } from '../meter.ts';
import type { ForNode, LoopNode } from '../parser/ast.ts';
import type { Position } from '../position.ts';
import { charsOf } from '../values/chars.ts';
import { normalInt } from '../values/int.ts';
import { type Cell, cell, char, Kind, type RangeValue, share, type Value } from '../values/value.ts';
import { pay } from './blocks.ts';
import { type Code, isPromise, plain, waiting, whenReady } from './code.ts';
import { type Context, keep, type Marks } from './context.ts';
import { catchSignals } from './jumps.ts';
import { compileCondition } from './logic.ts';
import { Flow, type Frame, type Run, type Runtime, type RunWaiting } from './runtime.ts';

/** Compiles the body; jumps inside its expressions become flags at its border. */
function compileBody(node: LoopNode | ForNode, context: Context): Code {
  const marks: Marks = { loopSignals: false, returnSignals: false };
  const body = context.compileBlock(node.body, { ...context, direct: true, marks });
  if (marks.returnSignals) context.marks.returnSignals = true;
  return marks.loopSignals ? catchSignals(body, ['break', 'continue']) : body;
}

/** A loop in an expression cannot hand a `return` on as a flag: nobody above would look at it. */
function leaveExpression(code: Code, context: Context): Code {
  if (context.direct || !code.jumps) return code;
  context.marks.returnSignals = true;
  const check = (rt: Runtime, value: Value): Value => {
    if (rt.flow === Flow.failed) {
      rt.flow = Flow.on;
      throw rt.fault;
    }
    if (rt.flow === Flow.on) return value;
    rt.flow = Flow.on;
    throw { signal: 'return', value };
  };
  const run = (rt: Runtime, s: Frame) => whenReady(code.run(rt, s), (value) => check(rt, value));
  return code.waits ? waiting(run, code.cost) : plain(run as Run, code.cost);
}

/** True to go round again. A jump that is not for this loop stays set for the blocks around. */
function goesOn(rt: Runtime): boolean {
  if (rt.flow === Flow.on) return true;
  const again = rt.flow === Flow.next;
  if (again || rt.flow === Flow.leave) rt.flow = Flow.on;
  return again;
}

export function compileLoop(node: LoopNode, context: Context): Code {
  const body = compileBody(node, context);
  const condition = node.condition === null ? null : compileCondition(node.condition, context);
  const waits = context.topLevel || body.waits || condition?.waits === true;
  const cost = condition?.cost ?? 0;
  const test = condition?.run ?? null;
  const { position, until } = node;
  if (!waits) {
    const run = node.testFirst
      ? plainWhile(test as Run | null, body.run as Run, cost, position)
      : plainDo(test as Run, body.run as Run, cost, until, position);
    return leaveExpression(plain(run, 0, body.jumps), context);
  }
  const run = node.testFirst
    ? waitingWhile(test, body, cost, position)
    : waitingDo(test as RunWaiting, body, cost, until, position);
  return leaveExpression(waiting(run, 0, body.jumps), context);
}

function plainWhile(test: Run | null, body: Run, cost: number, position: Position): Run {
  return (rt, s) => {
    for (;;) {
      if (test !== null) {
        pay(rt, cost, position);
        if (!test(rt, s)) return undefined;
      }
      const value = body(rt, s);
      if (rt.flow !== Flow.on && !goesOn(rt)) return value;
    }
  };
}

/** `continue` goes to the top without the test, as in the engine. */
function plainDo(test: Run, body: Run, cost: number, until: boolean, position: Position): Run {
  return (rt, s) => {
    for (;;) {
      const value = body(rt, s);
      if (rt.flow !== Flow.on) {
        if (!goesOn(rt)) return value;
        continue;
      }
      pay(rt, cost, position);
      if (test(rt, s) === until) return undefined;
    }
  };
}

function waitingWhile(test: RunWaiting | null, body: Code, cost: number, position: Position): RunWaiting {
  return async (rt, s) => {
    for (;;) {
      if (rt.left < rt.pauseAt) await rt.pause();
      if (test !== null) {
        pay(rt, cost, position);
        const wanted = test(rt, s);
        if (!(isPromise(wanted) ? await wanted : wanted)) return undefined;
      }
      const result = body.run(rt, s);
      const value = isPromise(result) ? await result : result;
      if (rt.flow !== Flow.on && !goesOn(rt)) return value;
    }
  };
}

function waitingDo(
  test: RunWaiting,
  body: Code,
  cost: number,
  until: boolean,
  position: Position,
): RunWaiting {
  return async (rt, s) => {
    for (;;) {
      if (rt.left < rt.pauseAt) await rt.pause();
      const result = body.run(rt, s);
      const value = isPromise(result) ? await result : result;
      if (rt.flow !== Flow.on) {
        if (!goesOn(rt)) return value;
        continue;
      }
      pay(rt, cost, position);
      const ended = test(rt, s);
      if ((isPromise(ended) ? await ended : ended) === until) return undefined;
    }
  };
}

interface Items {
  readonly length: number;
  readonly at: (index: number) => Value;
}

/** What a `for` goes through. An array counts as shared from here on: changes meanwhile happen to a copy. */
function itemsOf(rt: Runtime, value: Value, position: Position): Items {
  if (typeof value === 'string') {
    spend(rt, value.length);
    const chars = charsOf(value);
    return { length: chars.length, at: (i) => char(chars[i] as string) };
  }
  if (typeof value === 'object') {
    if (value.k === Kind.array) {
      const { items } = share(value) as typeof value;
      return { length: items.length, at: (i) => share(items[i]) };
    }
    if (value.k === Kind.range) return rangeItems(value);
    if (value.k === Kind.sequence) return value;
    if (value.k === Kind.blob) {
      const { bytes } = share(value) as typeof value;
      return { length: bytes.length, at: (i) => bytes[i] };
    }
  }
  throw createFault('ErrorFor', 'For loop expects iterable type', position);
}

function rangeItems({ start, end, inclusive }: RangeValue): Items {
  const length = Math.max(0, Number(BigInt(end) - BigInt(start)) + (inclusive ? 1 : 0));
  if (typeof start === 'number' && Number.isSafeInteger(start + length))
    return { length, at: (i) => start + i };
  return { length, at: (i) => normalInt(BigInt(start) + BigInt(i)) };
}

export function compileFor(node: ForNode, context: Context): Code {
  const iterable = keep(node.iterable, { ...context, borrow: false });
  const body = compileBody(node, context);
  const set = setter(node);
  const position = node.iterable.position;
  if (!context.topLevel && !iterable.waits && !body.waits) {
    const run = plainFor(iterable.run as Run, body.run as Run, set, position);
    return leaveExpression(plain(run, iterable.cost, body.jumps), context);
  }
  const run = waitingFor(iterable, body, set, position);
  return leaveExpression(waiting(run, iterable.cost, body.jumps), context);
}

type Setter = (s: Frame, item: Value, index: number) => void;

/** The loop variable is one variable for the whole loop: closures made in it all see its last value. */
function setter({ item, counter }: ForNode): Setter {
  if (counter === null && !item.captured)
    return (s, value) => {
      s[item.slot] = value;
    };
  const put = (s: Frame, variable: typeof item, value: Value, isFirst: boolean) => {
    if (!variable.captured) s[variable.slot] = value;
    else if (isFirst) s[variable.slot] = cell(value);
    else (s[variable.slot] as Cell).v = value;
  };
  return (s, value, index) => {
    put(s, item, value, index === 0);
    if (counter !== null) put(s, counter, index, index === 0);
  };
}

function plainFor(iterable: Run, body: Run, set: Setter, position: Position): Run {
  return (rt, s) => {
    const { length, at } = itemsOf(rt, iterable(rt, s), position);
    for (let i = 0; i < length; i++) {
      set(s, at(i), i);
      const value = body(rt, s);
      if (rt.flow !== Flow.on && !goesOn(rt)) return value;
    }
    return undefined;
  };
}

function waitingFor(iterable: Code, body: Code, set: Setter, position: Position): RunWaiting {
  return async (rt, s) => {
    const source = iterable.run(rt, s);
    const { length, at } = itemsOf(rt, isPromise(source) ? await source : source, position);
    for (let i = 0; i < length; i++) {
      if (rt.left < rt.pauseAt) await rt.pause();
      set(s, at(i), i);
      const result = body.run(rt, s);
      const value = isPromise(result) ? await result : result;
      if (rt.flow !== Flow.on && !goesOn(rt)) return value;
    }
    return undefined;
  };
}

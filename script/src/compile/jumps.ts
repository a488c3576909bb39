import {
  createThrown,
  type Fault,
  faultTextInside,
  isFault,
  isSystemFault,
  outermostPosition,
  stackOverflowOf,
} from '../errors.ts';
import { moduleNotFound, typeMismatch } from '../faults.ts';
import type { ImportNode, JumpNode, ThrowNode, TryNode } from '../parser/ast.ts';
import { columnOf, lineOf, nowhere, type Position } from '../position.ts';
import { cell, map, type Value } from '../values/value.ts';
import { shortText } from '../values/written.ts';
import { type Code, isPromise, plain, waiting, whenReady, withOperands } from './code.ts';
import { type Context, keep, lookAt } from './context.ts';
import { Flow, type Frame, type Run, type Runtime } from './runtime.ts';

const nothing: Code = plain(() => undefined, 0);
const flows = { return: Flow.back, break: Flow.leave, continue: Flow.next } as const;

/** A jump between statements is a flag; one from inside an expression unwinds like an exception. */
export function compileJump(node: JumpNode, context: Context): Code {
  const value = node.value === null ? nothing : keep(node.value, context);
  const { jump } = node;
  if (!context.direct) {
    if (jump === 'return') context.marks.returnSignals = true;
    else context.marks.loopSignals = true;
    return withOperands(
      [value],
      1,
      (_, __, [result]) => {
        throw { signal: jump, value: result };
      },
      false,
    );
  }
  const flow = flows[jump];
  const finish = (rt: Runtime, result: Value) => {
    rt.flow = flow;
    return result;
  };
  if (value.waits)
    return waiting((rt, s) => whenReady(value.run(rt, s), (result) => finish(rt, result)), value.cost, true);
  const { run } = value;
  return plain(
    (rt, s) => {
      const result = run(rt, s);
      rt.flow = flow;
      return result;
    },
    value.cost,
    true,
  );
}

/** Turns jumps out of expressions back into flags, at the loop or function they are for. */
export function catchSignals(code: Code, signals: readonly string[]): Code {
  const receive = (rt: Runtime, error: unknown): Value => {
    const { signal, value } = (error ?? {}) as { signal?: keyof typeof flows; value?: Value };
    if (signal === undefined || !signals.includes(signal)) throw error;
    rt.flow = flows[signal];
    return value;
  };
  const guarded = (rt: Runtime, s: Frame): Value | Promise<Value> => {
    try {
      const result = code.run(rt, s);
      return isPromise(result) ? result.catch((error: unknown) => receive(rt, error)) : result;
    } catch (error) {
      return receive(rt, error);
    }
  };
  return code.waits ? waiting(guarded, code.cost, true) : plain(guarded as Run, code.cost, true);
}

export function compileThrow(node: ThrowNode, context: Context): Code {
  const { position, caught } = node;
  if (node.value === null && caught !== null)
    return plain((_, s) => {
      throw again(s[caught.slot] as Fault, position);
    }, 0);
  const value = node.value === null ? nothing : keep(node.value, context);
  const raise = (rt: Runtime, thrown: Value): Value => {
    const fault = createThrown(thrown, shortText(rt, thrown), position);
    if (!context.direct || !context.inTry) throw fault;
    rt.fault = fault;
    rt.flow = Flow.failed;
    return undefined;
  };
  if (value.waits)
    return waiting((rt, s) => whenReady(value.run(rt, s), (thrown) => raise(rt, thrown)), value.cost, true);
  const { run } = value;
  return plain((rt, s) => raise(rt, run(rt, s)), value.cost, true);
}

function again(fault: Fault, position: Position): Fault {
  const last = fault.trail?.at(-1);
  if (last !== undefined) last.position = position;
  else fault.position = position;
  return fault;
}

/** What `catch (e)` gets: the thrown value, or a map that describes an error of the engine. */
function caughtValue(fault: Fault): Value {
  if (fault.kind === 'ErrorRuntime') return fault.thrown;
  const entries = new Map<string, Value>();
  entries.set('message', faultTextInside(fault));
  const call = fault.trail?.at(-1);
  entries.set('error', call === undefined ? fault.kind : 'ErrorInFunctionCall');
  if (call !== undefined) {
    entries.set('function', call.name);
    entries.set('source', '');
  } else {
    for (const [name, value] of Object.entries(fault.fields ?? {})) entries.set(name, value);
  }
  const position = outermostPosition(fault);
  if (position !== nowhere) {
    entries.set('line', lineOf(position));
    entries.set('position', columnOf(position));
  }
  return map(entries);
}

export function compileTry(node: TryNode, context: Context): Code {
  const body = context.compileBlock(node.body, { ...context, inTry: true });
  const handler = context.compileBlock(node.handler, context);
  const { caught, variable } = node;
  const handle = (rt: Runtime, s: Frame, fault: Fault): Value | Promise<Value> => {
    rt.flow = Flow.on;
    s[caught.slot] = fault;
    if (variable !== null)
      s[variable.slot] = variable.captured ? cell(caughtValue(fault)) : caughtValue(fault);
    // The value of a handler counts only if it leaves the statement: `try` itself has none then.
    return whenReady(handler.run(rt, s), (value) => (rt.flow === Flow.on ? undefined : value));
  };
  const finish = (rt: Runtime, s: Frame, value: Value): Value | Promise<Value> =>
    rt.flow === Flow.failed ? handle(rt, s, rt.fault as Fault) : value;
  const run = (rt: Runtime, s: Frame): Value | Promise<Value> => {
    let result: Value | Promise<Value>;
    try {
      result = body.run(rt, s);
    } catch (error) {
      return handle(rt, s, catchable(error, node.position));
    }
    if (!isPromise(result)) return finish(rt, s, result);
    return result.then(
      (value) => finish(rt, s, value),
      (error: unknown) => handle(rt, s, catchable(error, node.position)),
    );
  };
  const waits = body.waits || handler.waits;
  return waits ? waiting(run, 0, true) : plain(run as Run, 0, true);
}

function catchable(error: unknown, position: Position): Fault {
  const fault = isFault(error) ? error : stackOverflowOf(error, position);
  if (fault === null || isSystemFault(fault)) throw fault ?? error;
  return fault;
}

/** There are no modules: the path is evaluated, and then not found. */
export function compileImport({ path }: ImportNode, context: Context): Code {
  return withOperands(
    [lookAt(path, context)],
    1,
    (_, __, [name]) => {
      if (typeof name !== 'string') throw typeMismatch(name, 'string', path.position);
      throw moduleNotFound(name, path.position);
    },
    false,
  );
}

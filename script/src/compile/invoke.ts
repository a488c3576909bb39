import type { CallbackRequest, Native, NativeCalls } from '../builtins/native.ts';
import { nativesNamed } from '../builtins/registry.ts';
import { placed, throughCall } from '../errors.ts';
import { functionNotFound, nonPureOnConstant, stackOverflow } from '../faults.ts';
import { tooManyOperations } from '../meter.ts';
import type { Position } from '../position.ts';
import { typeBit } from '../values/kinds.ts';
import { type Ref, tempRef } from '../values/ref.ts';
import { cell, type FnValue, share, type Value } from '../values/value.ts';
import { isPromise } from './code.ts';
import type { Program } from './context.ts';
import { type CompiledFunction, Flow, type Frame, type Runtime } from './runtime.ts';

/** A frame for one call of `fn`. */
export function createFrame(
  fn: CompiledFunction,
  caller: Frame,
  self: Ref | undefined,
  args: readonly Value[],
): Frame {
  const { slots, parameters } = fn.definition;
  const frame: Frame = [self, caller];
  for (let i = 0; i < parameters.length; i++) {
    const parameter = parameters[i];
    frame.push(parameter?.captured === true ? cell(args[i]) : args[i]);
  }
  for (let i = frame.length; i < slots; i++) frame.push(undefined);
  return frame;
}

/** Runs a function whose frame is ready. A failure in it gets a line for this call. */
export function enter(
  rt: Runtime,
  fn: CompiledFunction,
  frame: Frame,
  caller: Frame,
  position: Position,
): Value | Promise<Value> {
  if (rt.depth >= rt.limits.callDepth) throw stackOverflow(position);
  rt.depth += 1;
  rt.frame = frame;
  let result: Value | Promise<Value>;
  try {
    result = fn.run(rt, frame);
  } catch (error) {
    rt.depth -= 1;
    rt.frame = caller;
    throw throughCall(error, fn.definition.name, position);
  }
  if (isPromise(result)) return leaveLater(rt, fn, result, caller, position);
  rt.depth -= 1;
  rt.frame = caller;
  rt.flow = Flow.on;
  return result;
}

/** `enter` for functions that never wait: the same without looking for a promise. */
export function enterPlain(
  rt: Runtime,
  fn: CompiledFunction,
  frame: Frame,
  caller: Frame,
  position: Position,
): Value {
  if (rt.depth >= rt.limits.callDepth) throw stackOverflow(position);
  rt.depth += 1;
  rt.frame = frame;
  try {
    return fn.run(rt, frame) as Value;
  } catch (error) {
    throw throughCall(error, fn.definition.name, position);
  } finally {
    rt.depth -= 1;
    rt.frame = caller;
    rt.flow = Flow.on;
  }
}

async function leaveLater(
  rt: Runtime,
  fn: CompiledFunction,
  result: Promise<Value>,
  caller: Frame,
  position: Position,
): Promise<Value> {
  try {
    return await result;
  } catch (error) {
    throw throughCall(error, fn.definition.name, position);
  } finally {
    rt.depth -= 1;
    rt.frame = caller;
    rt.flow = Flow.on;
  }
}

/** The overload for these arguments: exact types first come first. */
export function selectNative(natives: readonly Native[], args: readonly Value[]): Native | null {
  search: for (const native of natives) {
    const { types } = native;
    if (types.length !== args.length) continue;
    for (let i = 0; i < types.length; i++)
      if (((types[i] as number) & typeBit(args[i])) === 0) continue search;
    return native;
  }
  return null;
}

/** Runs a built-in; `self` is the place of its first argument, for those that change it. */
export function runNative(
  rt: Runtime,
  program: Program,
  native: Native,
  args: Value[],
  self: Ref,
  position: Position,
): Value | Promise<Value> {
  try {
    if (native.mode !== 'pure') {
      if (self.constant !== null) throw nonPureOnConstant(native.name, position);
      if (native.mode === 'own') args[0] = self.own();
    }
    if (!native.calls) return native.run(rt, args, self);
  } catch (error) {
    throw placed(error, position);
  }
  // A callback that changes the list meanwhile changes a copy.
  if (native.mode === 'pure') share(args[0]);
  return drive(rt, program, native.run(rt, args, self), position);
}

/** Runs a built-in that calls back. It yields the calls it wants; they may wait, the built-in need not know. */
function drive(
  rt: Runtime,
  program: Program,
  calls: NativeCalls,
  position: Position,
): Value | Promise<Value> {
  rt.depth += 1;
  const scratch = rt.scratch.length;
  try {
    let step = calls.next();
    while (step.done !== true) {
      let result: Value | Promise<Value>;
      try {
        result = callBack(rt, program, step.value, position);
      } catch (error) {
        step = calls.throw(error);
        continue;
      }
      if (isPromise(result)) return driveLater(rt, program, calls, result, position, scratch);
      step = calls.next(result);
    }
    leaveNative(rt, scratch);
    return step.value;
  } catch (error) {
    leaveNative(rt, scratch);
    throw placed(error, position);
  }
}

function leaveNative(rt: Runtime, scratch: number): void {
  rt.depth -= 1;
  rt.scratch.length = scratch;
}

async function driveLater(
  rt: Runtime,
  program: Program,
  calls: NativeCalls,
  first: Promise<Value>,
  position: Position,
  scratch: number,
): Promise<Value> {
  try {
    let pending: Value | Promise<Value> = first;
    for (;;) {
      let step: ReturnType<NativeCalls['next']>;
      try {
        step = calls.next(isPromise(pending) ? await pending : pending);
      } catch (error) {
        step = calls.throw(error);
      }
      pending = undefined;
      while (step.done !== true) {
        try {
          pending = callBack(rt, program, step.value, position);
          break;
        } catch (error) {
          step = calls.throw(error);
        }
      }
      if (step.done === true) return step.value;
    }
  } catch (error) {
    throw placed(error, position);
  } finally {
    leaveNative(rt, scratch);
  }
}

function callBack(
  rt: Runtime,
  program: Program,
  request: CallbackRequest,
  position: Position,
): Value | Promise<Value> {
  const { fn, args, extras, self } = request;
  rt.left -= 1;
  if (rt.left < 0) throw tooManyOperations(position);
  const { parameters } = fn.closure?.compiled.definition ?? { parameters: null };
  if (parameters === null) return callNamed(rt, program, fn, args, extras, self, position);
  const wanted = parameters.length - fn.curried.length;
  if (wanted === args.length) return callPointer(rt, program, fn, args, self, position);
  if (wanted === args.length + extras.length)
    return callPointer(rt, program, fn, [...args, ...extras], self, position);
  if (wanted === args.length - 1 && args.length > 0)
    return callPointer(rt, program, fn, args.slice(1), self ?? tempRef(rt, args[0]), position);
  return callPointer(rt, program, fn, args, self, position);
}

function callNamed(
  rt: Runtime,
  program: Program,
  fn: FnValue,
  args: Value[],
  extras: readonly Value[],
  self: Ref | undefined,
  position: Position,
): Value | Promise<Value> {
  const count = args.length + fn.curried.length;
  const script = (arity: number) => program.functions.has(`${fn.name}/${arity}`);
  if (!script(count) && script(count + extras.length) && extras.length > 0)
    return callPointer(rt, program, fn, [...args, ...extras], self, position);
  if (!script(count) && args.length > 0 && script(count - 1))
    return callPointer(rt, program, fn, args.slice(1), self ?? tempRef(rt, args[0]), position);
  return callPointer(rt, program, fn, args, self, position);
}

/** Calls what a pointer points to: a closure, or by name a script function, a built-in, a host function. */
export function callPointer(
  rt: Runtime,
  program: Program,
  fn: FnValue,
  given: readonly Value[],
  self: Ref | undefined,
  position: Position,
): Value | Promise<Value> {
  const args = fn.curried.length === 0 ? given : [...fn.curried, ...given];
  if (fn.closure !== null) {
    const { compiled, cells, globals } = fn.closure;
    const { definition } = compiled;
    if (definition.parameters.length !== args.length) throw functionNotFound(fn.name, args, position);
    const frame = createFrame(compiled, rt.frame, self, args);
    for (let i = 0; i < cells.length; i++)
      frame[(definition.captures[i] as { to: { slot: number } }).to.slot] = cells[i];
    return globals === null
      ? enter(rt, compiled, frame, rt.frame, position)
      : withGlobals(rt, globals, () => enter(rt, compiled, frame, rt.frame, position));
  }
  const script = program.functions.get(`${fn.name}/${args.length}`);
  if (script !== undefined)
    return enter(rt, script, createFrame(script, rt.frame, self, args), rt.frame, position);
  return callByName(rt, program, fn.name, [...args], tempRef(rt, args[0]), position);
}

/** A closure sees the constants that existed when it was made. */
function withGlobals(
  rt: Runtime,
  globals: Map<string, Value>,
  call: () => Value | Promise<Value>,
): Value | Promise<Value> {
  const outer = rt.globals;
  rt.globals = globals;
  const restore = () => {
    rt.globals = outer;
  };
  let result: Value | Promise<Value>;
  try {
    result = call();
  } catch (error) {
    restore();
    throw error;
  }
  if (isPromise(result)) return result.finally(restore);
  restore();
  return result;
}

/** A built-in or a host function. */
function callByName(
  rt: Runtime,
  program: Program,
  name: string,
  args: Value[],
  self: Ref,
  position: Position,
): Value | Promise<Value> {
  const native = selectNative(nativesNamed(name), args);
  if (native !== null) return runNative(rt, program, native, args, self, position);
  // Where no pointer was expected to wait, nobody would: a name put together at run time finds no host function.
  const isHost = program.pointersWait && program.host.get(name)?.includes(args.length) === true;
  if (isHost) return callHost(rt, name, args, position);
  throw functionNotFound(name, args, position);
}

export async function callHost(
  rt: Runtime,
  name: string,
  args: readonly Value[],
  position: Position,
): Promise<Value> {
  const { frame } = rt;
  try {
    return await rt.host(name, args);
  } catch (error) {
    throw placed(error, position);
  } finally {
    rt.frame = frame;
  }
}

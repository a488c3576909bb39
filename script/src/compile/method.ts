import { nativesNamed } from '../builtins/registry.ts';
import { functionNotFound, typeMismatch } from '../faults.ts';
import type { ChainNode } from '../parser/ast.ts';
import { typeName } from '../values/kinds.ts';
import type { Ref } from '../values/ref.ts';
import { type FnValue, Kind, type Value } from '../values/value.ts';
import type { Program } from './context.ts';
import { callHost, callPointer, createFrame, enter, runNative, selectNative } from './invoke.ts';
import type { Runtime } from './runtime.ts';

/** A call of a method on the place `self`. */
export type Method = (rt: Runtime, self: Ref, args: Value[]) => Value | Promise<Value>;

export type MethodStep = Extract<ChainNode['steps'][number], { type: 'method' }>;

/** Whether a method of this name may wait: it may be a host function, or a closure that a map holds. */
export function methodWaits({ name, args }: MethodStep, program: Program): boolean {
  if (program.pointersWait || program.host.get(name)?.includes(args.length + 1) === true) return true;
  const script = [...program.methods.values(), ...program.functions.values()];
  return script.some(
    ({ definition, waits }) =>
      waits && definition.name === name && definition.parameters.length === args.length,
  );
}

/** Looks a method up: a pointer in the map itself, a typed script method, a script function, a built-in, the host. */
export function createMethod(step: MethodStep, program: Program): Method {
  const { name, position } = step;
  const { length } = step.args;
  if (name === 'call') return createCall(step, program);
  const natives = nativesNamed(name).filter((native) => native.types.length === length + 1);
  const script = program.functions.get(`${name}/${length}`);
  const hasTyped = [...program.methods.keys()].some((key) => key.endsWith(`.${name}/${length}`));
  const isHost = program.host.get(name)?.includes(length + 1) === true;
  return (rt, self, args) => {
    const value = self.get();
    if (typeof value === 'object' && value.k === Kind.map) {
      const held = value.entries.get(name);
      if (typeof held === 'object' && held.k === Kind.fn)
        return callPointer(rt, program, held, args, self, position);
    }
    const typed = hasTyped ? program.methods.get(`${typeName(value)}.${name}/${length}`) : undefined;
    const fn = typed ?? script;
    if (fn !== undefined) return enter(rt, fn, createFrame(fn, rt.frame, self, args), rt.frame, position);
    const all = [value, ...args];
    const native = selectNative(natives, all);
    if (native !== null) return runNative(rt, program, native, all, self, position);
    if (isHost) return callHost(rt, name, all, position);
    throw functionNotFound(name, all, position);
  };
}

/** `f.call(args)`, or `x.call(f, args)` with `x` as `this`. */
function createCall({ position, args: nodes }: MethodStep, program: Program): Method {
  return (rt, self, args) => {
    const value = self.get();
    if (isFn(value)) return callPointer(rt, program, value, args, undefined, position);
    const [fn, ...rest] = args;
    if (args.length === 0) throw functionNotFound('call', [value], position);
    if (!isFn(fn)) throw typeMismatch(fn, 'Fn', nodes[0]?.position ?? position);
    return callPointer(rt, program, fn, rest, self, position);
  };
}

const isFn = (value: Value): value is FnValue => typeof value === 'object' && value.k === Kind.fn;

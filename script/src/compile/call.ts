import { nativesNamed } from '../builtins/registry.ts';
import { createFault } from '../errors.ts';
import { functionNotFound, typeMismatch } from '../faults.ts';
import type { CallNode, Expression } from '../parser/ast.ts';
import { reachable } from '../parser/parser.ts';
import { tempRef } from '../values/ref.ts';
import { type Cell, cell, type FnValue, Kind, type Value } from '../values/value.ts';
import { type Code, plain, totalCost, withOperands } from './code.ts';
import { type Context, keep, lookAt } from './context.ts';
import { callHost, callPointer, createFrame, enter, enterPlain, runNative, selectNative } from './invoke.ts';
import type { CompiledFunction, Frame, Run } from './runtime.ts';
import { compileBaseRef } from './targets.ts';

export function compileCall(node: CallNode, context: Context): Code {
  const special = specials[node.name]?.(node, context);
  if (special !== undefined && special !== null) return special;
  const script = context.program.functions.get(`${node.name}/${node.args.length}`);
  if (script === undefined) return compileNativeCall(node, context);
  return node.bang === null || context.inBang
    ? compileScriptCall(node, script, context)
    : compileBang(node, script, context);
}

function compileScriptCall(node: CallNode, fn: CompiledFunction, context: Context): Code {
  const args = node.args.map((arg) => keep(arg, context));
  const { position } = node;
  if (!fn.waits && args.every((arg) => !arg.waits))
    return plain(
      plainCall(
        fn,
        args.map((arg) => arg.run as Run),
        position,
      ),
      totalCost(args) + 2,
    );
  return withOperands(
    args,
    2,
    (rt, s, values) => enter(rt, fn, createFrame(fn, s, undefined, values), s, position),
    fn.waits,
  );
}

/** Builds the frame at once instead of a list of arguments first. */
function plainCall(fn: CompiledFunction, args: readonly Run[], position: number): Run {
  const { parameters, slots } = fn.definition;
  const captured = parameters.map((parameter) => parameter.captured);
  const rest = slots - 2 - args.length;
  return (rt, s) => {
    const frame: Frame = [undefined, s];
    for (let i = 0; i < args.length; i++) {
      const value = (args[i] as Run)(rt, s);
      frame.push(captured[i] === true ? cell(value) : value);
    }
    for (let i = 0; i < rest; i++) frame.push(undefined);
    return enterPlain(rt, fn, frame, s, position);
  };
}

/** `f!(…)`: the body also reaches the caller's variables, as if it had captured them. */
function compileBang(node: CallNode, fn: CompiledFunction, context: Context): Code {
  const { definition } = fn;
  const shared = reachable(definition, node.bang ?? new Map());
  let { slots } = definition;
  const captures = shared.map((from) => ({
    from,
    to: { name: from.name, slot: slots++, constant: from.constant, captured: true },
  }));
  const bound = { ...definition, slots, captures };
  const compiled = context.compileFunction(bound, context.program, true);
  const args = node.args.map((arg) => keep(arg, context));
  return withOperands(
    args,
    2,
    (rt, s, values) => {
      const frame = createFrame(compiled, s, s[0] as never, values);
      for (const { from, to } of captures) frame[to.slot] = s[from.slot] as Cell;
      return enter(rt, compiled, frame, s, node.position);
    },
    compiled.waits,
  );
}

/** A built-in that changes its first argument gets the place of it, if it is a plain variable. */
function compileNativeCall(node: CallNode, context: Context): Code {
  const { name, position, args } = node;
  const { program } = context;
  const natives = nativesNamed(name).filter((native) => native.types.length === args.length);
  const isHost = program.host.get(name)?.includes(args.length) === true;
  const changes = natives.some((native) => native.mode !== 'pure');
  const base = changes && args[0] !== undefined ? placeOf(args[0], context) : null;
  const onlyLooks = !isHost && (!changes || base !== null);
  const codes = args.map((arg, i) => (i === 0 && onlyLooks ? lookAt(arg, context) : keep(arg, context)));
  const waits = isHost || (program.pointersWait && natives.some((native) => native.calls));
  return withOperands(
    codes,
    2,
    (rt, s, values) => {
      const native = selectNative(natives, values);
      if (native !== null)
        return runNative(rt, program, native, values, base?.(rt, s) ?? tempRef(rt, values[0]), position);
      if (isHost) return callHost(rt, name, values, position);
      throw functionNotFound(name, values, position);
    },
    waits,
  );
}

function placeOf(arg: Expression, context: Context) {
  if (arg.type !== 'variable' || arg.variable === null || arg.variable.constant) return null;
  return compileBaseRef(arg, context);
}

type Special = (node: CallNode, context: Context) => Code | null;

/** Functions that the language itself knows: they need more than their arguments. */
const specials: Readonly<Record<string, Special | undefined>> = Object.assign(Object.create(null), {
  Fn: ({ args }, context) => {
    const [arg] = args;
    if (arg === undefined || args.length !== 1) return null;
    return withOperands(
      [lookAt(arg, context)],
      2,
      (_, __, [name]) => createPointer(name, arg.position),
      false,
    );
  },
  call: ({ args, position }, context) => {
    if (args.length === 0) return null;
    const { program } = context;
    const codes = args.map((arg) => keep(arg, context));
    return withOperands(
      codes,
      2,
      (rt, _, [fn, ...rest]) => {
        if (!isFn(fn)) throw typeMismatch(fn, 'Fn', args[0]?.position ?? position);
        return callPointer(rt, program, fn, rest, undefined, position);
      },
      program.pointersWait,
    );
  },
  is_def_var: ({ args, visible }, context) => {
    if (args.length !== 1 || args[0] === undefined) return null;
    const { constants } = context.program;
    return withOperands(
      [lookAt(args[0], context)],
      2,
      (_, __, [name]) =>
        typeof name === 'string' && (visible?.includes(name) === true || constants.has(name)),
      false,
    );
  },
  is_def_fn: ({ args }, context) => {
    if (args.length !== 2) return null;
    const { functions } = context.program;
    return withOperands(
      args.map((arg) => lookAt(arg, context)),
      2,
      (_, __, [name, count]) => typeof name === 'string' && functions.has(`${name}/${String(count)}`),
      false,
    );
  },
  is_shared: ({ args }) => {
    const [arg] = args;
    if (args.length !== 1 || arg?.type !== 'variable' || arg.variable?.captured !== true) return null;
    const { slot } = arg.variable;
    return plain((_, s) => (s[slot] as Cell).shared, 3);
  },
} satisfies Record<string, Special>);

const isFn = (value: Value): value is FnValue => typeof value === 'object' && value.k === Kind.fn;

function createPointer(name: Value, position: number): Value {
  if (typeof name !== 'string') throw typeMismatch(name, 'string', position);
  if (!/^_*[A-Za-z][A-Za-z0-9_]*$/.test(name))
    throw createFault('ErrorFunctionNotFound', `Function not found: ${name}`, position, { function: name });
  return { k: Kind.fn, name, closure: null, curried: [] };
}

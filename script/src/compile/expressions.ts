import { placed } from '../errors.ts';
import { moduleNotFound, unboundThis, variableNotFound } from '../faults.ts';
import { newEntries, newItems } from '../meter.ts';
import type {
  ArrayNode,
  ClosureNode,
  ConstNode,
  GlobalNode,
  MapNode,
  TemplateNode,
  ThisNode,
  VariableNode,
} from '../parser/ast.ts';
import { concat } from '../values/arithmetic.ts';
import type { Ref } from '../values/ref.ts';
import { array, type Cell, type FnValue, Kind, map, share, type Value } from '../values/value.ts';
import { textOfValue } from '../values/written.ts';
import { type Code, plain, withOperands } from './code.ts';
import { type Context, keep, lookAt, variableOf } from './context.ts';
import type { Run, Runtime } from './runtime.ts';

export function compileConst(node: ConstNode): Code {
  const { value } = node;
  return plain(() => value, 1);
}

/** Reading a variable to keep its value makes a container shared; looking at it does not. */
export function compileVariable(node: VariableNode, context: Context): Code {
  const variable = variableOf(node, context);
  if (variable === null) return compileUnresolved(node, context);
  const { slot, captured } = variable;
  if (captured)
    return context.borrow
      ? plain((_, s) => (s[slot] as Cell).v, 1)
      : plain((_, s) => share((s[slot] as Cell).v), 1);
  return context.borrow ? plain((_, s) => s[slot] as Value, 1) : plain((_, s) => share(s[slot] as Value), 1);
}

/** No variable: a constant of the host, a function to point to, or an error when it is reached. */
function compileUnresolved({ name, position }: VariableNode, { program }: Context): Code {
  if (program.constants.has(name)) {
    const value = program.constants.get(name);
    return plain(() => share(value), 1);
  }
  if (isFunctionName(name, program)) {
    const pointer: FnValue = { k: Kind.fn, name, closure: null, curried: [] };
    return plain(() => pointer, 1);
  }
  return plain(() => {
    throw variableNotFound(name, position);
  }, 1);
}

const isFunctionName = (name: string, { functions }: Context['program']): boolean =>
  [...functions.keys()].some((key) => key.startsWith(`${name}/`));

export function compileThis({ position }: ThisNode, { borrow }: Context): Code {
  return plain((_, s) => {
    const self = s[0] as Ref | undefined;
    if (self === undefined) throw unboundThis(position);
    return borrow ? self.get() : share(self.get());
  }, 1);
}

/** `global::X` is a constant that the script has set by now. */
export function compileGlobal({ space, name, position }: GlobalNode): Code {
  if (space !== 'global')
    return plain(() => {
      throw moduleNotFound(space, position);
    }, 1);
  return plain((rt) => {
    if (!rt.globals.has(name)) throw variableNotFound(`global::${name}`, position);
    return share(rt.globals.get(name));
  }, 1);
}

export function compileArray(node: ArrayNode, context: Context): Code {
  const items = node.items.map((item) => keep(item, context));
  return withOperands(
    items,
    1,
    (rt, _, values) => {
      newItems(rt, values.length + 1, values.length);
      return array(values);
    },
    false,
  );
}

export function compileMap({ keys, values }: MapNode, context: Context): Code {
  const codes = values.map((value) => keep(value, context));
  return withOperands(
    codes,
    1,
    (rt, _, all) => {
      newEntries(rt, all.length + 1, all.length);
      const entries = new Map<string, Value>();
      for (let i = 0; i < keys.length; i++) entries.set(keys[i] as string, all[i]);
      return map(entries);
    },
    false,
  );
}

const partText = (rt: Runtime, value: Value): string =>
  typeof value === 'string' ? value : textOfValue(rt, value);

export function compileTemplate({ parts, position }: TemplateNode, context: Context): Code {
  const codes = parts.flatMap((part) => (typeof part === 'string' ? [] : [lookAt(part, context)]));
  const texts: (string | null)[] = parts.map((part) => (typeof part === 'string' ? part : null));
  return withOperands(
    codes,
    1 + parts.length,
    (rt, _, values) => {
      let text = '';
      let at = 0;
      try {
        for (const part of texts) text = concat(rt, text, part ?? partText(rt, values[at++]));
      } catch (error) {
        throw placed(error, position);
      }
      return text;
    },
    false,
  );
}

/** Making a closure takes hold of the variables it uses; one that is nowhere to be found is an error here. */
export function compileClosure({ definition }: ClosureNode, context: Context): Code {
  const { program } = context;
  const compiled = context.compileFunction(definition, program, context.inBang);
  const { captures, name } = definition;
  const missing = definition.unresolved.find(
    (use) => !program.constants.has(use.name) && !isFunctionName(use.name, program),
  );
  const run: Run = (rt, s) => {
    if (missing !== undefined) throw variableNotFound(missing.name, missing.position);
    const cells = captures.map(({ from }) => {
      const shared = s[from.slot] as Cell;
      shared.shared = true;
      return shared;
    });
    const globals = definition.usesGlobals ? rt.globals : null;
    if (globals !== null) rt.globalsTaken = true;
    return { k: Kind.fn, name, closure: { compiled, cells, globals }, curried: [] };
  };
  return plain(run, 1);
}

import type { Native } from '../builtins/native.ts';
import { nativesNamed } from '../builtins/registry.ts';
import { placed } from '../errors.ts';
import type { ChainNode } from '../parser/ast.ts';
import { typeBit } from '../values/kinds.ts';
import { ownSlot, type Ref, slotRef } from '../values/ref.ts';
import { Kind, type Value } from '../values/value.ts';
import { type Code, plain } from './code.ts';
import { type Context, keep } from './context.ts';
import { localSlot } from './fast-binary.ts';
import { mayWait } from './may-wait.ts';
import { createMethod } from './method.ts';
import type { Run } from './runtime.ts';

/** `local.method(…)` with a built-in that neither calls back nor replaces its receiver, and nothing that waits. */
export function fastMethod(node: ChainNode, context: Context): Code | null {
  const slot = localSlot(node.base);
  const step = node.steps[0];
  if (slot < 0 || node.steps.length !== 1 || step?.type !== 'method' || step.optional) return null;
  const { program } = context;
  const isScript = [...program.functions.values(), ...program.methods.values()].some(
    ({ definition }) => definition.name === step.name,
  );
  const isConstant = node.base.type === 'variable' && node.base.variable?.constant === true;
  if (isScript || isConstant || program.pointersWait || program.host.has(step.name)) return null;
  const natives = nativesNamed(step.name).filter(
    (native): native is Plain =>
      native.types.length === step.args.length + 1 && !native.calls && native.mode !== 'ref',
  );
  if (natives.length === 0 || step.args.length > 1) return null;
  if (step.args.some((arg) => mayWait(arg, context))) return null;
  const codes = step.args.map((arg) => keep(arg, context));
  if (codes.some((code) => code.waits)) return null;
  const method = createMethod(step, program);
  const general = (rt: Parameters<Run>[0], s: Parameters<Run>[1], args: Value[]): Value =>
    method(rt, slotRef(rt, s, slot, null), args) as Value;
  const run = select(natives, slot, codes[0]?.run as Run | undefined, step.position, general);
  return plain(run, 4 + codes.reduce((sum, code) => sum + code.cost, 0));
}

type Plain = Extract<Native, { calls: false }>;
type General = (rt: Parameters<Run>[0], s: Parameters<Run>[1], args: Value[]) => Value;

function select(
  natives: readonly Plain[],
  slot: number,
  argument: Run | undefined,
  position: number,
  general: General,
): Run {
  return (rt, s) => {
    const args: Value[] = argument === undefined ? [] : [argument(rt, s)];
    const self = s[slot] as Value;
    const isMap = typeof self === 'object' && self.k === Kind.map;
    const bit = typeBit(self);
    const native = isMap ? undefined : natives.find((each) => matches(each, bit, args));
    if (native === undefined) return general(rt, s, args);
    try {
      const owned = native.mode === 'own' ? ownSlot(rt, s, slot) : self;
      return native.run(rt, args.length === 0 ? [owned] : [owned, args[0]], noPlace as unknown as Ref);
    } catch (error) {
      throw placed(error, position);
    }
  };
}

const matches = ({ types }: Plain, bit: number, args: readonly Value[]): boolean =>
  ((types[0] as number) & bit) !== 0 &&
  (args.length === 0 || ((types[1] as number) & typeBit(args[0])) !== 0);

/** Only built-ins that replace their receiver look at its place, and none of them comes here. */
const noPlace = { get: () => undefined, set: () => undefined, own: () => undefined, constant: null };

import type { AssignNode, ChainNode } from '../parser/ast.ts';
import { getIndex } from '../values/access.ts';
import { ownSlot, slotRef } from '../values/ref.ts';
import { type ArrayValue, Kind, share, type Value } from '../values/value.ts';
import { type Code, plain } from './code.ts';
import { type Context, keep, lookAt } from './context.ts';
import { localSlot } from './fast-binary.ts';
import { targetStep } from './targets.ts';

// Short forms of what `targets.ts` does in general, for the two chains that loops are made of.

/** `local[index]`, read. */
export function fastIndexRead(node: ChainNode, context: Context): Code | null {
  const slot = localSlot(node.base);
  const step = node.steps[0];
  if (slot < 0 || node.steps.length !== 1 || step?.type !== 'index' || step.optional) return null;
  const index = lookAt(step.index, context);
  if (index.waits) return null;
  const { run, cost } = index;
  const place = { index: step.index.position, bracket: step.position };
  return plain((rt, s) => {
    const at = run(rt, s);
    const of = s[slot] as Value;
    if (typeof of === 'object' && of.k === Kind.array && typeof at === 'number') {
      const { items } = of;
      if (at >= 0 && at < items.length) return share(items[at]);
    }
    return share(getIndex(rt, of, at, place));
  }, cost + 3);
}

/** `local[index] = value` on an array; anything else is left to the general way. */
export function fastChainAssign(node: AssignNode, target: ChainNode, context: Context): Code | null {
  const slot = localSlot(target.base);
  const step = target.steps[0];
  const isPlain = node.op === '' && slot >= 0 && target.steps.length === 1;
  if (!isPlain || step?.type !== 'index' || step.optional) return null;
  if (target.base.type === 'variable' && target.base.variable?.constant === true) return null;
  const index = lookAt(step.index, context);
  const value = keep(node.value, context);
  if (index.waits || value.waits) return null;
  const at = index.run;
  const assigned = value.run;
  const plan = { step, at: 0, place: { index: step.index.position, bracket: step.position } };
  return plain(
    (rt, s) => {
      const result = assigned(rt, s);
      const i = at(rt, s);
      const of = s[slot] as Value;
      if (typeof of === 'object' && of.k === Kind.array && typeof i === 'number') {
        if (i >= 0 && i < of.items.length) {
          const own = of.shared ? (ownSlot(rt, s, slot) as ArrayValue) : of;
          own.items[i] = result;
          return undefined;
        }
      }
      targetStep(rt, slotRef(rt, s, slot, null), plan, [i], result, false).set(result);
      return undefined;
    },
    index.cost + value.cost + 3,
  );
}

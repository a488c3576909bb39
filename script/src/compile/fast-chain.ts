import type { AssignNode, ChainNode, ChainStep } from '../parser/ast.ts';
import { getIndex, getProperty } from '../values/access.ts';
import { ownSlot, slotRef } from '../values/ref.ts';
import { type ArrayValue, Kind, type MapValue, share, type Value } from '../values/value.ts';
import { type Code, plain } from './code.ts';
import { type Context, keep, lookAt } from './context.ts';
import { localSlot } from './fast-binary.ts';
import { mayWait } from './may-wait.ts';
import type { Frame, Run, Runtime } from './runtime.ts';
import { targetStep } from './targets.ts';

// Short forms of what `targets.ts` does in general, for the chains that loops are made of.

/** `local[index]`, read. */
export function fastIndexRead(node: ChainNode, context: Context): Code | null {
  const slot = localSlot(node.base);
  const step = node.steps[0];
  if (slot < 0 || node.steps.length !== 1 || step?.type !== 'index' || step.optional) return null;
  if (mayWait(step.index, context)) return null;
  const index = lookAt(step.index, context);
  if (index.waits) return null;
  const { run, cost } = index;
  const { borrow } = context;
  const place = { index: step.index.position, bracket: step.position };
  return plain((rt, s) => {
    const at = run(rt, s);
    const of = s[slot] as Value;
    if (typeof of === 'object' && of.k === Kind.array && typeof at === 'number') {
      const { items } = of;
      if (at >= 0 && at < items.length) return borrow ? items[at] : share(items[at]);
    }
    const value = getIndex(rt, of, at, place);
    return borrow ? value : share(value);
  }, cost + 3);
}

/** `local[index] = value` on an array; anything else is left to the general way. */
export function fastChainAssign(node: AssignNode, target: ChainNode, context: Context): Code | null {
  const slot = localSlot(target.base);
  const step = target.steps[0];
  const isPlain = node.op === '' && slot >= 0 && target.steps.length === 1;
  if (!isPlain || step?.type !== 'index' || step.optional) return null;
  if (target.base.type === 'variable' && target.base.variable?.constant === true) return null;
  if (mayWait(step.index, context) || mayWait(node.value, context)) return null;
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

/** `local.a.b`, read; properties of maps mostly. */
export function fastPropertyRead(node: ChainNode, context: Context): Code | null {
  const slot = localSlot(node.base);
  if (slot < 0 || !node.steps.every((step) => step.type === 'property' && !step.optional)) return null;
  const steps = node.steps as readonly Extract<ChainStep, { type: 'property' }>[];
  const { borrow } = context;
  return plain((rt, s) => {
    let value = s[slot] as Value;
    for (let i = 0; i < steps.length; i++) {
      const { name, position } = steps[i] as (typeof steps)[number];
      value =
        typeof value === 'object' && value.k === Kind.map
          ? value.entries.get(name)
          : getProperty(rt, value, name, position);
    }
    return borrow ? value : share(value);
  }, steps.length + 2);
}

/** The keys of `local.a["b"].c`, if they are all known and the variable may change; else null. */
function knownKeys(target: ChainNode): string[] | null {
  const { base } = target;
  if (localSlot(base) < 0 || (base.type === 'variable' && base.variable?.constant === true)) return null;
  const keys: string[] = [];
  for (const step of target.steps) {
    if (step.type === 'property' && !step.optional) keys.push(step.name);
    else return null;
  }
  return keys;
}

/**
 * `local.a.b op= value` where every map on the way is held by one place only and has the entry. Otherwise `store`
 * does it in general, which also makes the copies.
 */
export function fastEntryAssign(
  { op }: AssignNode,
  target: ChainNode,
  value: Code,
  store: (rt: Runtime, s: Frame, value: Value) => Value,
): Run | null {
  const keys = knownKeys(target);
  if (keys === null || value.waits || (op !== '' && op !== '+')) return null;
  const slot = localSlot(target.base);
  const last = keys.pop() as string;
  const { run } = value;
  return (rt, s) => {
    const assigned = run(rt, s);
    let owner = s[slot] as Value;
    for (let i = 0; i < keys.length; i++) {
      if (!isOwnMap(owner)) return store(rt, s, assigned);
      owner = owner.entries.get(keys[i] as string);
    }
    if (!isOwnMap(owner)) return store(rt, s, assigned);
    const current = owner.entries.get(last);
    if (op === '') {
      if (current === undefined) return store(rt, s, assigned);
      owner.entries.set(last, assigned);
      return undefined;
    }
    if (typeof current !== 'number' || typeof assigned !== 'number') return store(rt, s, assigned);
    const sum = current + assigned;
    if (!Number.isSafeInteger(sum)) return store(rt, s, assigned);
    owner.entries.set(last, sum);
    return undefined;
  };
}

const isOwnMap = (value: Value): value is MapValue =>
  typeof value === 'object' && value.k === Kind.map && !value.shared;

import type { ChainNode } from '../parser/ast.ts';
import { type Ref, tempRef } from '../values/ref.ts';
import { share, type Value } from '../values/value.ts';
import { type Code, isPromise, plain, withOperands } from './code.ts';
import { type Context, keep, lookAt } from './context.ts';
import { fastIndexRead, fastPropertyRead } from './fast-chain.ts';
import { fastMethod } from './fast-method.ts';
import { createMethod, type Method, methodWaits } from './method.ts';
import type { Runtime } from './runtime.ts';
import { compileBaseRef, planSteps, readStep, refStep, type Step } from './targets.ts';

export function compileChain(node: ChainNode, context: Context): Code {
  const fast = fastIndexRead(node, context) ?? fastPropertyRead(node, context) ?? fastMethod(node, context);
  if (fast !== null) return fast;
  return node.steps.some((step) => step.type === 'method')
    ? compileWithMethods(node, context)
    : compileReads(node, context);
}

/** Properties and indices only: values are enough, no places needed. */
function compileReads(node: ChainNode, context: Context): Code {
  const { steps, operands } = planSteps(node);
  const codes = [...operands, node.base].map((operand) => lookAt(operand, context));
  const { borrow } = context;
  const read = (rt: Runtime, values: readonly Value[]): Value => {
    let value = values[codes.length - 1];
    for (const plan of steps) {
      if (plan.step.optional && value === undefined) return undefined;
      value = readStep(rt, value, plan, values);
    }
    return borrow ? value : share(value);
  };
  const [only] = codes;
  if (codes.length === 1 && only !== undefined && !only.waits)
    return plain((rt, s) => read(rt, [only.run(rt, s) as Value]), only.cost + steps.length + 1);
  return withOperands(codes, steps.length + 1, (rt, _, values) => read(rt, values), false);
}

function compileWithMethods(node: ChainNode, context: Context): Code {
  const { steps, operands } = planSteps(node);
  const methods = steps.map(({ step }) =>
    step.type === 'method' ? createMethod(step, context.program) : null,
  );
  const waits = steps.some(({ step }) => step.type === 'method' && methodWaits(step, context.program));
  const base = compileBaseRef(node.base, context);
  const codes = operands.map((operand) => keep(operand, context));
  if (base === null) codes.push(keep(node.base, context));
  const cost =
    2 + steps.length + methods.filter((method) => method !== null).length - (base === null ? 1 : 0);
  return withOperands(
    codes,
    cost,
    (rt, s, values) => {
      const start = base === null ? tempRef(rt, values[values.length - 1]) : base(rt, s);
      return walk(rt, steps, methods, 0, start, values);
    },
    waits,
  );
}

/** Goes from place to place. What a method answers is a new value that no place holds. */
function walk(
  rt: Runtime,
  steps: readonly Step[],
  methods: readonly (Method | null)[],
  from: number,
  start: Ref,
  values: readonly Value[],
): Value | Promise<Value> {
  let ref = start;
  for (let i = from; i < steps.length; i++) {
    const plan = steps[i] as Step;
    if (plan.step.optional && ref.get() === undefined) return undefined;
    const method = methods[i];
    if (method === null || method === undefined) {
      ref = hasMethodAfter(methods, i)
        ? refStep(rt, ref, plan, values)
        : tempRef(rt, readStep(rt, ref.get(), plan, values));
      continue;
    }
    const count = plan.step.type === 'method' ? plan.step.args.length : 0;
    const result = method(rt, ref, values.slice(plan.at, plan.at + count));
    if (i === steps.length - 1) return result;
    if (isPromise(result))
      return result.then((value) => walk(rt, steps, methods, i + 1, tempRef(rt, value), values));
    ref = tempRef(rt, result);
  }
  return share(ref.get());
}

const hasMethodAfter = (methods: readonly (Method | null)[], index: number): boolean =>
  methods.slice(index + 1).some((method) => method !== null);

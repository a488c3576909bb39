import { constantModified, noGetter, noIndexer, noSetter, unboundThis, variableNotFound } from '../faults.ts';
import type { ChainNode, ChainStep, Expression } from '../parser/ast.ts';
import type { Position } from '../position.ts';
import { getIndex, getProperty, type IndexPlace, indexRef, propertyRef } from '../values/access.ts';
import { typeName } from '../values/kinds.ts';
import { cellRef, type Ref, slotRef, tempRef } from '../values/ref.ts';
import { type Cell, Kind, share, type Value } from '../values/value.ts';
import { type Context, variableOf } from './context.ts';
import type { Frame, Runtime } from './runtime.ts';

/** Finds the place that a chain starts from. */
export type BaseRef = (rt: Runtime, s: Frame) => Ref;

/** Null when the base is no place but a value that must be computed. */
export function compileBaseRef(base: Expression, context: Context): BaseRef | null {
  const { program } = context;
  if (base.type === 'this')
    return (_, s) => {
      const self = s[0] as Ref | undefined;
      if (self === undefined) throw unboundThis(base.position);
      return self;
    };
  if (base.type === 'global')
    return (rt) => {
      if (!rt.globals.has(base.name)) throw variableNotFound(`global::${base.name}`, base.position);
      return tempRef(rt, share(rt.globals.get(base.name)), base.name);
    };
  if (base.type !== 'variable') return null;
  const { name } = base;
  const variable = variableOf(base, context);
  if (variable === null) {
    if (!program.constants.has(name)) return null;
    return (rt) => tempRef(rt, share(program.constants.get(name)), name);
  }
  const constant = variable.constant ? name : null;
  const { slot, captured } = variable;
  return captured
    ? (rt, s) => cellRef(rt, s[slot] as Cell, constant)
    : (rt, s) => slotRef(rt, s, slot, constant);
}

export interface Step {
  readonly step: ChainStep;
  readonly place: IndexPlace;
  /** Where its arguments begin among the operands of the chain. */
  readonly at: number;
}

export function planSteps(node: ChainNode): { steps: Step[]; operands: Expression[] } {
  const operands: Expression[] = [];
  const steps = node.steps.map((step) => {
    const at = operands.length;
    if (step.type === 'index') operands.push(step.index);
    if (step.type === 'method') operands.push(...step.args);
    const index = step.type === 'index' ? step.index.position : step.position;
    return { step, at, place: { index, bracket: step.position } };
  });
  return { steps, operands };
}

/** Reads through a property or an index. */
export function readStep(
  rt: Runtime,
  of: Value,
  { step, at, place }: Step,
  operands: readonly Value[],
): Value {
  return step.type === 'property'
    ? getProperty(rt, of, step.name, step.position)
    : getIndex(rt, of, operands[at], place);
}

/** The place behind a property or an index, to go on from. */
export function refStep(rt: Runtime, of: Ref, plan: Step, operands: readonly Value[]): Ref {
  const { step, at, place } = plan;
  if (step.type === 'property') {
    const value = of.get();
    if (typeof value === 'object' && value.k === Kind.map)
      return propertyRef(rt, of, step.name, step.position) as Ref;
    return tempRef(rt, getProperty(rt, value, step.name, step.position));
  }
  return indexRef(rt, of, operands[at], place, '');
}

/** The place that an assignment writes to. */
export function targetStep(
  rt: Runtime,
  of: Ref,
  plan: Step,
  operands: readonly Value[],
  assigned: Value,
  reads: boolean,
): Ref {
  const { step, at, place } = plan;
  if (step.type === 'property') {
    const ref = propertyRef(rt, of, step.name, step.position);
    if (ref !== null) return ref;
    if (reads) throw noGetter(step.name, of.get(), step.position);
    throw noSetter(step.name, of.get(), assigned, step.position);
  }
  const index = operands[at];
  const value = of.get();
  if (typeof value === 'boolean' || value === undefined)
    throw noIndexer(value, index, reads ? '' : ` = ${typeName(assigned)}`, place.bracket);
  return indexRef(rt, of, index, place, reads ? '' : ` = ${typeName(assigned)}`);
}

export function refuseConstant(ref: Ref, position: Position): void {
  if (ref.constant !== null) throw constantModified(ref.constant, position);
}

import { placed } from '../errors.ts';
import { constantModified, functionNotFound, unboundThis, variableNotFound } from '../faults.ts';
import { charge, checkArray, entryBytes, newEntries, newItems } from '../meter.ts';
import type { AssignNode, ChainNode, LetNode, VariableNode } from '../parser/ast.ts';
import type { Position } from '../position.ts';
import { concat, noSuchOperator, type Operator, operators } from '../values/arithmetic.ts';
import { appendToBlob } from '../values/blob.ts';
import { cellRef, type Ref, setEntry, slotRef } from '../values/ref.ts';
import { type ArrayValue, type Cell, cell, Kind, share, type Value } from '../values/value.ts';
import { type Code, plain, waiting, whenReady, withOperands } from './code.ts';
import { type Context, keep, lookAt, variableOf } from './context.ts';
import { fastChainAssign, fastEntryAssign } from './fast-chain.ts';
import type { Frame, Run, Runtime } from './runtime.ts';
import { compileBaseRef, planSteps, refStep, refuseConstant, targetStep } from './targets.ts';

export function compileLet(node: LetNode, context: Context): Code {
  const value = node.value === null ? plain(() => undefined, 0) : keep(node.value, context);
  const { variable, topLevel } = node;
  const { slot, name, constant, captured } = variable;
  const { program } = context;
  const isGlobal = topLevel && constant && program.recordsGlobals;
  if (!captured && !isGlobal && !value.waits) {
    const { run } = value;
    return plain((rt, s) => {
      s[slot] = run(rt, s);
      return undefined;
    }, value.cost);
  }
  const declare = (rt: Runtime, s: Frame, result: Value): Value => {
    const held = captured ? cell(result) : result;
    s[slot] = held;
    if (isGlobal) setGlobal(rt, name, share(result));
    if (topLevel && captured) program.session?.(name, constant, held as Cell);
    return undefined;
  };
  const run = (rt: Runtime, s: Frame) => whenReady(value.run(rt, s), (result) => declare(rt, s, result));
  return value.waits ? waiting(run, value.cost) : plain(run as Run, value.cost);
}

function setGlobal(rt: Runtime, name: string, value: Value): void {
  if (rt.globalsTaken) {
    charge(rt, rt.globals.size * entryBytes);
    rt.globals = new Map(rt.globals);
    rt.globalsTaken = false;
  }
  rt.globals.set(name, value);
}

/** `a op= b`: in place where the container allows it, else as `a = a op b`, with the operator's position. */
function assignOperator(rt: Runtime, ref: Ref, op: string, value: Value, position: Position): void {
  const current = ref.get();
  let result: ReturnType<Operator>;
  try {
    if (op === '+' && typeof current === 'object' && appendInPlace(rt, ref, current, value)) return;
    result = (operators[op] as Operator)(rt, current, value);
  } catch (error) {
    throw placed(error, position);
  }
  if (result === noSuchOperator) throw functionNotFound(op, [current, value], position);
  ref.set(result);
}

function appendInPlace(rt: Runtime, ref: Ref, current: Extract<Value, object>, value: Value): boolean {
  if (current.k === Kind.array) {
    const added = typeof value === 'object' && value.k === Kind.array ? value.items.slice() : [value];
    newItems(rt, added.length, current.items.length + added.length);
    const { items } = ref.own() as ArrayValue;
    for (const item of added) items.push(share(item));
    return true;
  }
  if (current.k === Kind.map && typeof value === 'object' && value.k === Kind.map) {
    newEntries(rt, value.entries.size, Math.max(current.entries.size, value.entries.size));
    const owner = ref.own();
    for (const [key, item] of [...value.entries]) setEntry(owner, key, share(item));
    newEntries(rt, 0, (owner as typeof current).entries.size);
    return true;
  }
  if (current.k !== Kind.blob) return false;
  const bytes = appendToBlob(value);
  if (bytes === null) return false;
  checkArray(rt, current.bytes.length + bytes.length);
  charge(rt, bytes.length * 8);
  (ref.own() as typeof current).bytes.push(...bytes);
  return true;
}

export function compileAssign(node: AssignNode, context: Context): Code {
  const { target } = node;
  if (target.type === 'variable') return compileVariableAssign(node, target, context);
  if (target.type === 'chain') return compileChainAssign(node, target, context);
  const value = keep(node.value, context);
  const { position } = target;
  const name = target.type === 'global' ? target.name : '';
  return withOperands(
    [value],
    1,
    (rt, s, [result]) => {
      if (target.type === 'global') throw constantModified(name, position);
      const self = s[0] as Ref | undefined;
      if (self === undefined) throw unboundThis(position);
      refuseConstant({ ...self, constant: self.constant === null ? null : '' }, position);
      if (node.op === '') self.set(result);
      else assignOperator(rt, self, node.op, result, node.position);
      return undefined;
    },
    false,
  );
}

function compileVariableAssign(node: AssignNode, target: VariableNode, context: Context): Code {
  const value = node.op === '' ? keep(node.value, context) : lookAt(node.value, context);
  const { name, position } = target;
  const variable = variableOf(target, context);
  if (variable === null) {
    const fault = context.program.constants.has(name) ? constantModified : variableNotFound;
    return withOperands(
      [value],
      1,
      () => {
        throw fault(name, position);
      },
      false,
    );
  }
  const { slot, captured } = variable;
  if (!captured && !value.waits) return plain(plainAssign(node, slot, value.run), value.cost + 1);
  return withOperands(
    [value],
    1,
    (rt, s, [result]) => {
      const ref = captured ? cellRef(rt, s[slot] as Cell, null) : slotRef(rt, s, slot, null);
      if (node.op === '') ref.set(result);
      else assignOperator(rt, ref, node.op, result, node.position);
      return undefined;
    },
    false,
  );
}

const limit = Number.MAX_SAFE_INTEGER;

function plainAssign({ op, position }: AssignNode, slot: number, value: Run): Run {
  if (op === '')
    return (rt, s) => {
      s[slot] = value(rt, s);
      return undefined;
    };
  if (op === '+')
    return (rt, s) => {
      const b = value(rt, s);
      const a = s[slot] as Value;
      if (typeof a === 'number' && typeof b === 'number') {
        const sum = a + b;
        if (sum <= limit && sum >= -limit) {
          s[slot] = sum;
          return undefined;
        }
      } else if (typeof a === 'string' && typeof b === 'string') {
        try {
          s[slot] = concat(rt, a, b);
        } catch (error) {
          throw placed(error, position);
        }
        return undefined;
      }
      assignOperator(rt, slotRef(rt, s, slot, null), op, b, position);
      return undefined;
    };
  return (rt, s) => {
    const b = value(rt, s);
    assignOperator(rt, slotRef(rt, s, slot, null), op, b, position);
    return undefined;
  };
}

/** The value first, then the indices from left to right, then the place itself. */
function compileChainAssign(node: AssignNode, target: ChainNode, context: Context): Code {
  const fast = fastChainAssign(node, target, context);
  if (fast !== null) return fast;
  const value = keep(node.value, context);
  const { operands } = planSteps(target);
  const store = createStore(node, target, context);
  const entry = fastEntryAssign(node, target, value, (rt, s, assigned) => store(rt, s, assigned, []));
  const cost = 2 + target.steps.length;
  if (entry !== null) return plain(entry, value.cost + cost);
  return withOperands(
    [value, ...operands.map((operand) => lookAt(operand, context))],
    cost,
    (rt, s, [assigned, ...indices]) => store(rt, s, assigned, indices),
    false,
  );
}

type Store = (rt: Runtime, s: Frame, value: Value, indices: readonly Value[]) => Value;

function createStore(node: AssignNode, target: ChainNode, context: Context): Store {
  const { steps } = planSteps(target);
  const base = compileBaseRef(target.base, context);
  const { base: start } = target;
  const last = steps.length - 1;
  return (rt, s, value, indices) => {
    if (base === null) throw variableNotFound(start.type === 'variable' ? start.name : '', start.position);
    let ref = base(rt, s);
    refuseConstant(start.type === 'this' ? unnamed(ref) : ref, start.position);
    for (let i = 0; i <= last; i++) {
      const plan = steps[i] as (typeof steps)[number];
      if (plan.step.optional && ref.get() === undefined) return undefined;
      ref =
        i < last
          ? refStep(rt, ref, plan, indices)
          : targetStep(rt, ref, plan, indices, value, node.op !== '');
    }
    if (node.op === '') ref.set(value);
    else assignOperator(rt, ref, node.op, value, node.position);
    return undefined;
  };
}

/** Through `this` nobody knows what the constant is called. */
const unnamed = (ref: Ref): Ref => ({ ...ref, constant: ref.constant === null ? null : '' });

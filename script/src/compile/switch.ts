import { readText } from '../meter.ts';
import type { Expression, SwitchCase, SwitchNode } from '../parser/ast.ts';
import { identical } from '../values/compare.ts';
import { maxInt } from '../values/int.ts';
import { array, Kind, map, type RangeValue, range, type Value } from '../values/value.ts';
import { pay } from './blocks.ts';
import { type Code, isPromise, plain, waiting, whenReady } from './code.ts';
import { type Context, lookAt } from './context.ts';
import { compileCondition } from './logic.ts';
import type { Frame, Run, Runtime } from './runtime.ts';

interface Arm {
  readonly guard: Code | null;
  readonly body: Code;
}

interface Arms {
  /** By labels that are their own key: integers, strings, booleans, unit. */
  readonly exact: Map<Value, Arm[]>;
  /** Labels that only a comparison finds: floats, characters, arrays, maps. */
  readonly compared: { readonly label: Value; readonly arm: Arm }[];
  readonly ranges: { readonly label: RangeValue; readonly arm: Arm }[];
  fallback: Arm | null;
}

export function compileSwitch(node: SwitchNode, context: Context): Code {
  const subject = lookAt(node.subject, context);
  // Labels of one case share its guard and its body: each is compiled once.
  const bodies = new Map<SwitchCase['body'], Code>();
  const guards = new Map<Expression, Code>();
  const all: Arm[] = [];
  const arms: Arms = { exact: new Map(), compared: [], ranges: [], fallback: null };
  for (const each of node.cases) {
    const body = bodies.get(each.body) ?? context.compile(each.body, { ...context, borrow: false });
    bodies.set(each.body, body);
    const guard =
      each.guard === null ? null : (guards.get(each.guard) ?? compileCondition(each.guard, context));
    if (each.guard !== null && guard !== null) guards.set(each.guard, guard);
    const arm = { guard, body };
    all.push(arm);
    place(arms, each.label, arm);
  }
  const jumps = all.some(({ body }) => body.jumps);
  const waits = all.some(({ body, guard }) => body.waits || guard?.waits === true);
  if (waits || subject.waits)
    return waiting(
      (rt, s) =>
        whenReady(subject.run(rt, s), (value) => choose(rt, s, candidates(rt, arms, value), 0, node)),
      subject.cost + 1,
      jumps,
    );
  return plain(plainSwitch(subject.run, arms, node), subject.cost + 1, jumps);
}

function place(arms: Arms, label: Expression | null, arm: Arm): void {
  if (label === null) {
    arms.fallback = arm;
    return;
  }
  const value = literalValue(label);
  if (typeof value === 'object' && value.k === Kind.range) arms.ranges.push({ label: value, arm });
  else if (typeof value === 'object') arms.compared.push({ label: value, arm });
  else arms.exact.set(value, [...(arms.exact.get(value) ?? []), arm]);
}

function literalValue(label: Expression): Value {
  if (label.type === 'array') return array(label.items.map(literalValue));
  if (label.type === 'map')
    return map(new Map(label.keys.map((key, i) => [key, literalValue(label.values[i] as Expression)])));
  if (label.type !== 'binary') return label.type === 'const' ? label.value : undefined;
  const start = literalValue(label.left) as number;
  const isOpen = label.op.endsWith(' ');
  const end = isOpen ? maxInt : (literalValue(label.right) as number);
  return range(start, end, label.op.startsWith('..='), isOpen);
}

function inRange(value: Value, { start, end, inclusive }: RangeValue): boolean {
  const number = typeof value === 'object' && value.k === Kind.float ? value.v : value;
  if (typeof number !== 'number' && typeof number !== 'bigint') return false;
  return number >= start && (inclusive ? number <= end : number < end);
}

/** The arms that match, in the order in which their guards are asked. */
function candidates(rt: Runtime, arms: Arms, value: Value): Arm[] {
  if (typeof value === 'string') readText(rt, value);
  const found = [...(typeof value === 'object' ? [] : (arms.exact.get(value) ?? []))];
  for (const { label, arm } of arms.compared) if (identical(rt, label, value)) found.push(arm);
  for (const { label, arm } of arms.ranges) if (inRange(value, label)) found.push(arm);
  if (arms.fallback !== null) found.push(arms.fallback);
  return found;
}

function choose(
  rt: Runtime,
  s: Frame,
  found: readonly Arm[],
  from: number,
  node: SwitchNode,
): Value | Promise<Value> {
  for (let i = from; i < found.length; i++) {
    const { guard, body } = found[i] as Arm;
    if (guard !== null) {
      pay(rt, guard.cost, node.position);
      const passed = guard.run(rt, s);
      if (isPromise(passed))
        return passed.then((yes) => (yes ? runArm(rt, s, body, node) : choose(rt, s, found, i + 1, node)));
      if (!passed) continue;
    }
    return runArm(rt, s, body, node);
  }
  return undefined;
}

function runArm(rt: Runtime, s: Frame, body: Code, node: SwitchNode): Value | Promise<Value> {
  pay(rt, body.cost + 1, node.position);
  return body.run(rt, s);
}

/** The same without waiting, and without a list for the usual labels: they have no guard. */
function plainSwitch(subject: Run, arms: Arms, node: SwitchNode): Run {
  const { exact, ranges, compared, fallback } = arms;
  const isSimple = compared.length === 0 && [...exact.values()].every((found) => isPlain(found));
  const hasGuardedRange = ranges.some(({ arm }) => arm.guard !== null);
  if (!isSimple || hasGuardedRange)
    return (rt, s) => choose(rt, s, candidates(rt, arms, subject(rt, s)), 0, node) as Value;
  return (rt, s) => {
    const value = subject(rt, s);
    if (typeof value === 'string') readText(rt, value);
    const arm = typeof value === 'object' ? undefined : exact.get(value)?.[0];
    if (arm !== undefined) return runArm(rt, s, arm.body, node) as Value;
    for (let i = 0; i < ranges.length; i++) {
      const range = ranges[i] as (typeof ranges)[number];
      if (inRange(value, range.label)) return runArm(rt, s, range.arm.body, node) as Value;
    }
    return fallback === null ? undefined : (runArm(rt, s, fallback.body, node) as Value);
  };
}

const isPlain = (found: readonly Arm[]): boolean => found.length === 1 && found[0]?.guard === null;

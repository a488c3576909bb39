import { typeMismatch } from '../faults.ts';
import type { Expression, LogicNode } from '../parser/ast.ts';
import type { Position } from '../position.ts';
import type { Value } from '../values/value.ts';
import { type Code, plain, waiting, whenReady } from './code.ts';
import { type Context, keep, lookAt } from './context.ts';

function requireBool(value: Value, position: Position): boolean {
  if (typeof value !== 'boolean') throw typeMismatch(value, 'bool', position);
  return value;
}

/** A condition as JavaScript sees it: the closure answers true or false or throws. */
export function compileCondition(node: Expression, context: Context): Code {
  const { position } = node;
  const code = lookAt(node, context);
  if (code.waits) {
    const { run } = code;
    return waiting((rt, s) => whenReady(run(rt, s), (value) => requireBool(value, position)), code.cost);
  }
  const { run } = code;
  return plain((rt, s) => {
    const value = run(rt, s);
    return typeof value === 'boolean' ? value : requireBool(value, position);
  }, code.cost);
}

export function compileLogic(node: LogicNode, context: Context): Code {
  return node.op === '??' ? compileCoalesce(node, context) : compileShortCircuit(node, context);
}

function compileShortCircuit(node: LogicNode, context: Context): Code {
  const left = compileCondition(node.left, context);
  const right = compileCondition(node.right as Expression, context);
  const cost = left.cost + right.cost + 1;
  const decides = node.op === '||';
  if (left.waits || right.waits)
    return waiting(
      (rt, s) => whenReady(left.run(rt, s), (value) => (value === decides ? value : right.run(rt, s))),
      cost,
    );
  const a = left.run;
  const b = right.run;
  return node.op === '&&'
    ? plain((rt, s) => (a(rt, s) as boolean) && b(rt, s), cost)
    : plain((rt, s) => (a(rt, s) as boolean) || b(rt, s), cost);
}

function compileCoalesce(node: LogicNode, context: Context): Code {
  const left = keep(node.left, context);
  const right = keep(node.right, context);
  const cost = left.cost + right.cost + 1;
  if (left.waits || right.waits)
    return waiting(
      (rt, s) => whenReady(left.run(rt, s), (value) => (value === undefined ? right.run(rt, s) : value)),
      cost,
    );
  const a = left.run;
  const b = right.run;
  return plain((rt, s) => {
    const value = a(rt, s);
    return value === undefined ? b(rt, s) : value;
  }, cost);
}

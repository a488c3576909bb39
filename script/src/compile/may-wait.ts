import type { AnyNode } from '../parser/ast.ts';
import { childrenOf } from './children.ts';
import type { Context } from './context.ts';
import { methodWaits } from './method.ts';

/**
 * Whether code of this node may wait, asked before it is compiled: the short forms must not compile operands only to
 * leave them to the general form, which would double the work at every level of nesting.
 */
export function mayWait(node: AnyNode, context: Context): boolean {
  const { program, topLevel } = context;
  if (node.type === 'call') {
    const script = program.functions.get(`${node.name}/${node.args.length}`);
    if (program.pointersWait || program.host.has(node.name) || script?.waits === true) return true;
  }
  if (topLevel && (node.type === 'loop' || node.type === 'for')) return true;
  if (node.type === 'chain')
    if (node.steps.some((step) => step.type === 'method' && methodWaits(step, program))) return true;
  return childrenOf(node).some((child) => mayWait(child, context));
}

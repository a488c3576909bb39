import type { AnyNode, ChainStep } from '../parser/ast.ts';

/** The nodes directly inside a node, closures excepted: their bodies run at another time. */
export function childrenOf(node: AnyNode): readonly AnyNode[] {
  switch (node.type) {
    case 'const':
    case 'variable':
    case 'this':
    case 'global':
    case 'closure':
    case 'empty':
      return [];
    case 'template':
      return node.parts.filter((part) => typeof part !== 'string');
    case 'array':
      return node.items;
    case 'map':
      return node.values;
    case 'unary':
      return [node.operand];
    case 'binary':
    case 'logic':
      return [node.left, node.right];
    case 'call':
      return node.args;
    case 'chain':
      return [node.base, ...node.steps.flatMap(stepChildren)];
    case 'if':
      return [node.condition, node.then, ...present(node.otherwise)];
    case 'switch':
      // Labels of one case share its guard and its body.
      return [node.subject, ...new Set(node.cases.flatMap(({ guard, body }) => [...present(guard), body]))];
    case 'block':
      return node.statements;
    case 'loop':
      return [...present(node.condition), node.body];
    case 'for':
      return [node.iterable, node.body];
    case 'let':
    case 'jump':
    case 'throw':
      return present(node.value);
    case 'assign':
      return [node.target, node.value];
    case 'try':
      return [node.body, node.handler];
    case 'import':
      return [node.path];
  }
}

const present = <T>(node: T | null): T[] => (node === null ? [] : [node]);

function stepChildren(step: ChainStep): readonly AnyNode[] {
  if (step.type === 'index') return [step.index];
  return step.type === 'method' ? step.args : [];
}

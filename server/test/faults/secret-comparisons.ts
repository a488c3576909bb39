import type { Node } from 'oxc-parser';
import { isTestFile, type SourceMap, violation } from '../support/source-graph.ts';

const secretName = /(secret|token|password|passphrase|signature|pepper|hash|digest)$/i;
/** What a script calls a token is a word of its source text; web and cli hold no stored secret to compare with. */
const looksAt = /^server\/src\//;

const allowed = [
  {
    path: 'server/src/identity/password.rules.ts',
    reason: 'a wish for a password beside an address, both of the caller',
  },
  {
    path: 'server/src/identity/login.service.ts',
    reason: 'a stored hash beside the same row a moment later',
  },
];

/** Comparisons with `===` and the like of something that is named as a secret, with something that is not a constant. */
export function comparedSecrets(sources: SourceMap): string[] {
  return [...sources.values()]
    .filter(({ path }) => looksAt.test(path) && !isTestFile(path))
    .filter(({ path }) => !allowed.some((allowance) => allowance.path === path))
    .flatMap((source) =>
      source.nodes
        .filter(({ node }) => isComparison(node))
        .map(({ node }) => violation(source, node, 'compares a secret; use equalInConstantTime')),
    );
}

function isComparison(node: Node): boolean {
  if (node.type !== 'BinaryExpression' || !/^[!=]==?$/.test(node.operator)) return false;
  const sides = [node.left, node.right];
  return sides.some((side) => secretName.test(nameOf(side))) && !sides.some(isConstant);
}

/** `a.b.token`, `token` and `token.reveal()` are all named `token`. */
function nameOf(node: Node): string {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'CallExpression') return nameOf(node.callee);
  if (node.type !== 'MemberExpression' || node.computed || node.property.type !== 'Identifier') return '';
  return node.property.name === 'reveal' ? nameOf(node.object) : node.property.name;
}

function isConstant(node: Node): boolean {
  return (
    node.type === 'Literal' ||
    (node.type === 'Identifier' && (node.name === 'undefined' || /^[A-Z_]+$/.test(node.name))) ||
    (node.type === 'UnaryExpression' && node.operator === 'typeof')
  );
}

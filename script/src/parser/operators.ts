import type { Token } from '../lexer/token.ts';

/** Higher binds tighter. Shifts above products, and `|` beside `||`, are the engine's. */
const precedences: ReadonlyMap<string, number> = new Map([
  ['||', 30],
  ['|', 30],
  ['^', 30],
  ['&&', 60],
  ['&', 60],
  ['==', 90],
  ['!=', 90],
  ['in', 110],
  ['!in', 110],
  ['<', 130],
  ['<=', 130],
  ['>', 130],
  ['>=', 130],
  ['??', 135],
  ['..', 140],
  ['..=', 140],
  ['+', 150],
  ['-', 150],
  ['*', 180],
  ['/', 180],
  ['%', 180],
  ['**', 190],
  ['<<', 210],
  ['>>', 210],
]);

/** 0 for what is no binary operator. */
export const binaryPrecedence = (token: Token): number =>
  token.kind === 'symbol' || token.kind === 'keyword' ? (precedences.get(token.text) ?? 0) : 0;

export const isRightAssociative = (token: Token): boolean => token.text === '**';

/** `+` for `+=`, the empty text for `=`, null for anything else. */
export function assignmentOperator(token: Token): string | null {
  if (token.kind !== 'symbol' || !token.text.endsWith('=')) return null;
  if (token.text === '=') return '';
  const op = token.text.slice(0, -1);
  return ['+', '-', '*', '/', '%', '**', '<<', '>>', '&', '|', '^'].includes(op) ? op : null;
}

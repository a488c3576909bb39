import { syntaxFault } from '../errors.ts';
import type { Expression, Statement, SwitchCase, SwitchNode } from './ast.ts';
import { parseCondition } from './control.ts';
import { accept, advance, atEnd, deeper, isKeyword, isSymbol, missing, type Parser } from './state.ts';

export function parseSwitch(parser: Parser, level: number): SwitchNode {
  const { position } = advance(parser);
  if (isSymbol(parser, '{')) throw syntaxFault('Expecting a boolean expression', parser.token.position);
  const subject = parser.expression(parser, level);
  if (!accept(parser, '{')) throw missing('{', 'to start a switch block', parser.token.position);
  const cases: SwitchCase[] = [];
  while (!isSymbol(parser, '}')) {
    if (atEnd(parser)) throw missing('}', 'to end this switch block', parser.token.position);
    if (cases.some((each) => each.label === null))
      throw syntaxFault('Default switch case must be the last', parser.token.position);
    cases.push(...parseCase(parser, level, cases.some(isRangeCase)));
  }
  advance(parser);
  return { type: 'switch', subject, cases, position };
}

function parseCase(parser: Parser, level: number, afterRange: boolean): SwitchCase[] {
  const isDefault = isSymbol(parser, '_');
  const labels = isDefault ? [] : parseLabels(parser, level, afterRange);
  if (isDefault) advance(parser);
  let guard: Expression | null = null;
  if (isKeyword(parser, 'if')) {
    if (isDefault) throw syntaxFault('This switch case cannot have a condition', parser.token.position);
    advance(parser);
    guard = parseCondition(parser, deeper(parser, level, parser.token.position));
  }
  if (!accept(parser, '=>')) throw missing('=>', 'in this switch case', parser.token.position);
  const body = parser.statement(parser, deeper(parser, level, parser.token.position));
  endCase(parser, body);
  if (isDefault) return [{ label: null, guard, body }];
  return labels.map((label) => ({ label, guard, body }));
}

function endCase(parser: Parser, body: Statement): void {
  if (accept(parser, ',') || isSymbol(parser, '}')) return;
  const { kind, position } = parser.token;
  if (kind === 'end') throw missing('}', 'to end this switch block', position);
  const isBlockLike = ['block', 'if', 'switch', 'loop', 'for', 'try'].includes(body.type);
  if (!isBlockLike) throw missing(',', 'to separate the items in this switch block', position);
}

function parseLabels(parser: Parser, level: number, afterRange: boolean): Expression[] {
  const labels: Expression[] = [];
  let hasRange = afterRange;
  do {
    const label = parser.expression(parser, level);
    for (const each of alternatives(label)) {
      if (!isLiteral(each)) throw syntaxFault('Expecting a literal expression', each.position);
      if (isRange(each)) hasRange = true;
      else if (hasRange && isNumber(each))
        throw syntaxFault('Numeric switch case cannot follow a range case', each.position);
      labels.push(each);
    }
  } while (accept(parser, '|'));
  return labels;
}

/** The grammar of expressions reads `1 | 2` as one operator chain; here it is a list. */
function alternatives(label: Expression): Expression[] {
  if (label.type !== 'binary' || label.op !== '|') return [label];
  return [...alternatives(label.left), ...alternatives(label.right)];
}

const isRange = (label: Expression): boolean => label.type === 'binary' && label.op.startsWith('..');
const isRangeCase = (each: SwitchCase): boolean => each.label !== null && isRange(each.label);
const isNumber = (label: Expression): boolean =>
  label.type === 'const' && (typeof label.value === 'number' || typeof label.value === 'bigint');

function isLiteral(label: Expression): boolean {
  if (label.type === 'const') return true;
  if (label.type === 'array') return label.items.every(isLiteral);
  if (label.type === 'map') return label.values.every(isLiteral);
  return label.type === 'binary' && isRange(label) && isNumber(label.left) && isEnd(label.right);
}

const isEnd = (end: Expression): boolean =>
  isNumber(end) || (end.type === 'const' && end.value === undefined);

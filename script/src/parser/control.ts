import { syntaxFault } from '../errors.ts';
import type { BlockNode, Expression, ForNode, IfNode, LoopNode, TryNode } from './ast.ts';
import { parseBlock } from './blocks.ts';
import { requireBoolean, requireIterable } from './literal-types.ts';
import { declare, enterBlock, hiddenVariable, leaveBlock } from './scope.ts';
import {
  accept,
  advance,
  deeper,
  expect,
  isKeyword,
  isSymbol,
  missing,
  type Parser,
  takeName,
} from './state.ts';

/** A condition is no block, no literal but a boolean, and no assignment by mistake. */
export function parseCondition(parser: Parser, level: number): Expression {
  if (isSymbol(parser, '{')) throw syntaxFault('Expecting a boolean expression', parser.token.position);
  const condition = parser.expression(parser, level);
  requireBoolean(condition);
  refuseAssignment(parser);
  return condition;
}

function refuseAssignment(parser: Parser): void {
  if (isSymbol(parser, '=')) throw syntaxFault("Possibly a typo of '=='?", parser.token.position);
}

export function parseIf(parser: Parser, level: number): IfNode {
  const { position } = advance(parser);
  const condition = parseCondition(parser, level);
  const then = parseBlock(parser, deeper(parser, level, parser.token.position));
  if (!isKeyword(parser, 'else')) return { type: 'if', condition, then, otherwise: null, position };
  advance(parser);
  const inner = deeper(parser, level, parser.token.position);
  const otherwise = isKeyword(parser, 'if') ? parseIf(parser, inner) : parseBlock(parser, inner);
  return { type: 'if', condition, then, otherwise, position };
}

function parseLoopBody(parser: Parser, level: number): BlockNode {
  parser.scope.loops += 1;
  const body = parseBlock(parser, deeper(parser, level, parser.token.position));
  parser.scope.loops -= 1;
  return body;
}

export function parseWhile(parser: Parser, level: number): LoopNode {
  const { position } = advance(parser);
  const condition = parseCondition(parser, level);
  const body = parseLoopBody(parser, level);
  return { type: 'loop', condition, until: false, testFirst: true, body, position };
}

export function parseLoop(parser: Parser, level: number): LoopNode {
  const { position } = advance(parser);
  const body = parseLoopBody(parser, level);
  return { type: 'loop', condition: null, until: false, testFirst: true, body, position };
}

export function parseDo(parser: Parser, level: number): LoopNode {
  const { position } = advance(parser);
  const body = parseLoopBody(parser, level);
  const until = isKeyword(parser, 'until');
  if (!until && !isKeyword(parser, 'while'))
    throw missing('while', 'for the do statement', parser.token.position);
  advance(parser);
  const condition = parseCondition(parser, level);
  return { type: 'loop', condition, until, testFirst: false, body, position };
}

export function parseFor(parser: Parser, level: number): ForNode {
  const { position } = advance(parser);
  const names = parseIterationNames(parser);
  if (!isKeyword(parser, 'in')) throw missing('in', 'after the iteration variable', parser.token.position);
  advance(parser);
  if (isSymbol(parser, '{')) throw syntaxFault('Expecting a boolean expression', parser.token.position);
  const iterable = parser.expression(parser, level);
  requireIterable(iterable);
  const mark = enterBlock(parser.scope);
  const counter = names.counter === null ? null : declare(parser.scope, names.counter, false);
  const item = declare(parser.scope, names.item, false);
  const body = parseLoopBody(parser, level);
  leaveBlock(parser.scope, mark);
  return { type: 'for', item, counter, iterable, body, position };
}

function parseIterationNames(parser: Parser): { item: string; counter: string | null } {
  if (!accept(parser, '(')) return { item: takeName(parser).text, counter: null };
  const item = takeName(parser).text;
  if (!accept(parser, ',')) throw missing(',', 'after the iteration variable name', parser.token.position);
  const counter = takeName(parser);
  if (counter.text === item) throw syntaxFault(`Duplicated variable name '${item}'`, counter.position);
  expect(parser, ')', 'to close the iteration variable');
  return { item, counter: counter.text };
}

export function parseTry(parser: Parser, level: number): TryNode {
  const { position } = advance(parser);
  const body = parseBlock(parser, deeper(parser, level, parser.token.position));
  if (!isKeyword(parser, 'catch')) throw missing('catch', "for the 'try' statement", parser.token.position);
  advance(parser);
  const mark = enterBlock(parser.scope);
  const outer = parser.scope.caught;
  const caught = hiddenVariable(parser.scope);
  let variable: TryNode['variable'] = null;
  if (accept(parser, '(')) {
    variable = declare(parser.scope, takeName(parser).text, false);
    expect(parser, ')', 'to enclose the catch variable');
  }
  parser.scope.caught = caught;
  const handler = parseBlock(parser, deeper(parser, level, parser.token.position));
  parser.scope.caught = outer;
  leaveBlock(parser.scope, mark);
  return { type: 'try', body, variable, caught, handler, position };
}

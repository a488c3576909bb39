import { syntaxFault } from '../errors.ts';
import type { Position } from '../position.ts';
import type { AssignNode, Expression, LetNode, Statement } from './ast.ts';
import { parseBlock } from './blocks.ts';
import { parseDo, parseFor, parseIf, parseLoop, parseTry, parseWhile } from './control.ts';
import { assignmentOperator } from './operators.ts';
import { declare, noteUnresolved, resolve } from './scope.ts';
import {
  accept,
  advance,
  deeper,
  isKeyword,
  isSymbol,
  type Parser,
  startsExpression,
  takeName,
} from './state.ts';
import { parseSwitch } from './switch.ts';

export function parseStatement(parser: Parser, level: number): Statement {
  const { token } = parser;
  if (token.kind === 'keyword') {
    const statement = parseKeywordStatement(parser, level, token.text);
    if (statement !== null) return statement;
  }
  if (isSymbol(parser, ';')) return { type: 'empty', position: token.position };
  if (isSymbol(parser, '{')) return parseBlock(parser, deeper(parser, level, token.position));
  return parseExpressionStatement(parser, level);
}

function parseKeywordStatement(parser: Parser, level: number, word: string): Statement | null {
  const { position } = parser.token;
  switch (word) {
    case 'if':
      return parseIf(parser, deeper(parser, level, position));
    case 'switch':
      return parseSwitch(parser, deeper(parser, level, position));
    case 'while':
      return parseWhile(parser, deeper(parser, level, position));
    case 'loop':
      return parseLoop(parser, deeper(parser, level, position));
    case 'do':
      return parseDo(parser, deeper(parser, level, position));
    case 'for':
      return parseFor(parser, deeper(parser, level, position));
    case 'try':
      return parseTry(parser, deeper(parser, level, position));
    case 'let':
    case 'const':
      return parseLet(parser, level, false);
    case 'break':
    case 'continue':
      return parseLoopJump(parser, level, word);
    case 'return':
      advance(parser);
      return { type: 'jump', jump: 'return', value: parseOptional(parser, level), position };
    case 'throw':
      advance(parser);
      return { type: 'throw', value: parseOptional(parser, level), caught: parser.scope.caught, position };
    case 'import':
      return parseImport(parser, level);
    case 'fn':
    case 'private':
      throw syntaxFault(
        'Function definitions must be at global level and cannot be inside a block or another function',
        position,
      );
    case 'export':
      throw syntaxFault('Export statement can only appear at global level', position);
    default:
      return null;
  }
}

const parseOptional = (parser: Parser, level: number): Expression | null =>
  startsExpression(parser.token) ? parser.expression(parser, level) : null;

export function parseLet(parser: Parser, level: number, topLevel: boolean): LetNode {
  const { text, position } = advance(parser);
  const { text: name } = takeName(parser);
  const value = accept(parser, '=') ? parser.expression(parser, level) : null;
  const variable = declare(parser.scope, name, text === 'const', topLevel && parser.keepsScope);
  return { type: 'let', variable, value, topLevel, position };
}

function parseLoopJump(parser: Parser, level: number, jump: 'break' | 'continue'): Statement {
  const { position } = advance(parser);
  if (parser.scope.loops === 0)
    throw syntaxFault('Break statement should only be used inside a loop', position);
  const value = jump === 'break' ? parseOptional(parser, level) : null;
  return { type: 'jump', jump, value, position };
}

function parseImport(parser: Parser, level: number): Statement {
  const { position } = advance(parser);
  const path = parser.expression(parser, level);
  if (isKeyword(parser, 'as')) {
    advance(parser);
    takeName(parser);
  }
  return { type: 'import', path, position };
}

/** `export let x = 1;` and `export x;`: there is nobody to export to, so only the declaration counts. */
export function parseExport(parser: Parser, level: number): Statement {
  const { position } = advance(parser);
  if (isKeyword(parser, 'let') || isKeyword(parser, 'const')) return parseLet(parser, level, true);
  const { text, position: at } = takeName(parser);
  if (isKeyword(parser, 'as')) {
    advance(parser);
    takeName(parser);
  }
  const variable = resolve(parser.scope, text);
  if (variable === null) noteUnresolved(parser.scope, text, at);
  const exported: Expression = { type: 'variable', name: text, variable, position: at };
  const nothing: Expression = { type: 'const', value: undefined, position };
  return { type: 'block', statements: [exported, nothing], position };
}

function parseExpressionStatement(parser: Parser, level: number): Statement {
  const target = parser.expression(parser, level);
  const op = assignmentOperator(parser.token);
  if (op === null) return target;
  const { position } = advance(parser);
  requireTarget(target, position);
  const value = parser.expression(parser, level);
  const assignment: AssignNode = { type: 'assign', target, op, value, position };
  return assignment;
}

const notAssignable = (position: Position) => syntaxFault('Expression cannot be assigned to', position);

function requireTarget(target: Expression, position: Position): void {
  if (target.type === 'variable') {
    if (target.variable?.constant === true)
      throw syntaxFault(`Cannot assign to constant ${target.name}`, target.position);
    return;
  }
  if (target.type === 'this') return;
  if (target.type === 'const') throw syntaxFault('Cannot assign to a constant value', target.position);
  if (target.type === 'logic') throw syntaxFault("Possibly a typo of '=='?", position);
  if (target.type !== 'chain') throw notAssignable(target.position);
  const method = target.steps.find((step) => step.type === 'method');
  if (method !== undefined) throw notAssignable(method.position);
  if (!['variable', 'this', 'global'].includes(target.base.type)) throw notAssignable(target.base.position);
}

import { syntaxFault } from '../errors.ts';
import type { Token } from '../lexer/token.ts';
import { char, float } from '../values/value.ts';
import type { BlockNode, Expression, LogicNode } from './ast.ts';
import { parseBlock, parseStatements } from './blocks.ts';
import { parseDo, parseFor, parseIf, parseLoop, parseWhile } from './control.ts';
import { parseClosure } from './functions.ts';
import { requireBoolean } from './literal-types.ts';
import { parseArray, parseMap } from './literals.ts';
import { binaryPrecedence, isRightAssociative } from './operators.ts';
import { parseCall, parseNamespaced, parsePostfix } from './postfix.ts';
import { noteUnresolved, resolve } from './scope.ts';
import {
  advance,
  deeper,
  expect,
  isSymbol,
  type Parser,
  reserved,
  unexpected,
  unknownOperator,
} from './state.ts';
import { parseSwitch } from './switch.ts';

export function parseExpression(parser: Parser, level: number): Expression {
  const inner = deeper(parser, level, parser.token.position);
  return parseBinary(parser, inner, 1, parseUnary(parser, inner));
}

/** Precedence climbing. Each operator of a chain is a level deeper than the one before it. */
function parseBinary(parser: Parser, outer: number, least: number, first: Expression): Expression {
  let level = outer;
  let left = first;
  let { position } = first;
  for (;;) {
    const { token } = parser;
    if (token.kind === 'unknown') throw unknownOperator(token);
    const precedence = binaryPrecedence(token);
    if (precedence < least || (precedence === least && !isRightAssociative(token) && least > 1)) return left;
    level = deeper(parser, level, position);
    position = token.position;
    advance(parser);
    left = parseRight(parser, level, token, precedence, left);
  }
}

function parseRight(
  parser: Parser,
  level: number,
  op: Token,
  precedence: number,
  left: Expression,
): Expression {
  const isRange = op.text === '..' || op.text === '..=';
  if (isRange && isOpenEnd(parser)) {
    const right: Expression = { type: 'const', value: undefined, position: op.position };
    return { type: 'binary', op: `${op.text} `, left, right, position: op.position };
  }
  if (op.text === '??' && isJump(parser)) {
    const right = parser.statement(parser, level) as LogicNode['right'];
    return { type: 'logic', op: '??', left, right, position: op.position };
  }
  const operand = parseUnary(parser, level);
  const next = binaryPrecedence(parser.token);
  const binds = precedence < next || (precedence === next && isRightAssociative(parser.token));
  const right = binds ? parseBinary(parser, level, precedence, operand) : operand;
  return combine(op, left, right);
}

const isOpenEnd = ({ token }: Parser): boolean =>
  token.kind === 'symbol' && [']', ')', '}', ',', ';', '=>'].includes(token.text);

const isJump = ({ token }: Parser): boolean =>
  token.kind === 'keyword' && ['break', 'continue', 'return', 'throw'].includes(token.text);

function combine(op: Token, left: Expression, right: Expression): Expression {
  const { position } = op;
  if (op.text === '&&' || op.text === '||') {
    requireBoolean(left);
    requireBoolean(right);
    return { type: 'logic', op: op.text, left, right, position };
  }
  if (op.text === '??') return { type: 'logic', op: '??', left, right, position };
  return { type: 'binary', op: op.text, left, right, position };
}

function parseUnary(parser: Parser, level: number): Expression {
  const { token } = parser;
  if (token.kind === 'symbol') {
    if (token.text === '-' || token.text === '+' || token.text === '!') {
      const inner = deeper(parser, level, token.position);
      advance(parser);
      return unary(token, parseUnary(parser, inner));
    }
    if (token.text === '..' || token.text === '..=') return parseFromZero(parser, level);
  }
  return parsePostfix(parser, level, parsePrimary(parser, level));
}

function unary(op: Token, operand: Expression): Expression {
  if (op.text !== '!' && operand.type === 'const') {
    const { value } = operand;
    if (typeof value === 'number' && op.text === '-') return { ...operand, value: 0 - value };
    if (typeof value === 'number' || typeof value === 'bigint') if (op.text === '+') return operand;
  }
  return { type: 'unary', op: op.text, operand, position: op.position };
}

function parseFromZero(parser: Parser, level: number): Expression {
  const op = advance(parser);
  const left: Expression = { type: 'const', value: 0, position: op.position };
  return parseRight(parser, level, op, binaryPrecedence(op), left);
}

function parsePrimary(parser: Parser, level: number): Expression {
  const { token } = parser;
  const { position } = token;
  switch (token.kind) {
    case 'int':
      advance(parser);
      return { type: 'const', value: token.value, position };
    case 'float':
      advance(parser);
      return { type: 'const', value: float(Number(token.value)), position };
    case 'string':
      advance(parser);
      return { type: 'const', value: token.text, position };
    case 'char':
      advance(parser);
      return { type: 'const', value: char(token.text), position };
    case 'template':
      return parseTemplate(parser, level);
    case 'name':
      return parseName(parser, level);
    case 'reserved':
      return parseReserved(parser, level);
    case 'keyword':
      return parseKeyword(parser, level);
    case 'symbol':
      return parseSymbol(parser, level);
    case 'unknown':
    case 'end':
      throw unexpected(token);
  }
}

function parseTemplate(parser: Parser, level: number): Expression {
  const { position } = parser.token;
  const parts: (string | BlockNode)[] = [];
  const inner = deeper(parser, level, position);
  while (parser.token.open) {
    if (parser.token.text !== '') parts.push(parser.token.text);
    const start = advance(parser).position;
    parts.push({
      type: 'block',
      statements: parseStatements(parser, deeper(parser, inner, start)),
      position: start,
    });
    parser.token = parser.lexer.resumeTemplate(position);
  }
  const { text } = advance(parser);
  if (parts.length === 0) return { type: 'const', value: text, position };
  if (text !== '') parts.push(text);
  return { type: 'template', parts, position };
}

function parseName(parser: Parser, level: number): Expression {
  const { text, position } = advance(parser);
  if (isSymbol(parser, '::')) return parseNamespaced(parser, level, text, position);
  const call = parseCall(parser, level, text, position);
  if (call !== null) return call;
  const variable = resolve(parser.scope, text);
  if (variable === null) noteUnresolved(parser.scope, text, position);
  return { type: 'variable', name: text, variable, position };
}

function parseReserved(parser: Parser, level: number): Expression {
  const { token } = parser;
  if (token.text === 'this') {
    if (!parser.inFunction) throw syntaxFault("'this' can only be used in functions", token.position);
    advance(parser);
    return { type: 'this', position: token.position };
  }
  // Running text as code is refused here as the engine does with the word switched off.
  if (token.text === 'eval') throw reserved(token);
  advance(parser);
  const call = parseCall(parser, level, token.text, token.position);
  if (call === null || !callable.has(token.text)) throw reserved(token);
  return call;
}

const callable: ReadonlySet<string> = new Set(
  'print debug type_of Fn call curry is_shared is_def_var is_def_fn'.split(' '),
);

function parseKeyword(parser: Parser, level: number): Expression {
  const { token } = parser;
  switch (token.text) {
    case 'true':
    case 'false':
      advance(parser);
      return { type: 'const', value: token.text === 'true', position: token.position };
    case 'if':
      return parseIf(parser, deeper(parser, level, token.position));
    case 'switch':
      return parseSwitch(parser, deeper(parser, level, token.position));
    case 'while':
      return parseWhile(parser, deeper(parser, level, token.position));
    case 'loop':
      return parseLoop(parser, deeper(parser, level, token.position));
    case 'do':
      return parseDo(parser, deeper(parser, level, token.position));
    case 'for':
      return parseFor(parser, deeper(parser, level, token.position));
    default:
      throw unexpected(token);
  }
}

function parseSymbol(parser: Parser, level: number): Expression {
  const { token } = parser;
  const { position } = token;
  switch (token.text) {
    case '()':
      advance(parser);
      return { type: 'const', value: undefined, position };
    case '(': {
      const inner = deeper(parser, level, position);
      advance(parser);
      const expression = parser.expression(parser, inner);
      expect(parser, ')', 'for a matching ( in this expression');
      return expression;
    }
    case '[':
      return parseArray(parser, deeper(parser, level, position));
    case '#{':
      return parseMap(parser, deeper(parser, level, position));
    case '{':
      return parseBlock(parser, deeper(parser, level, position));
    case '|':
    case '||':
      return parseClosure(parser, level);
    default:
      throw unexpected(token);
  }
}

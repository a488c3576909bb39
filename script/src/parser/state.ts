import { syntaxFault } from '../errors.ts';
import { createLexer, type Lexer } from '../lexer/lexer.ts';
import { foreignSymbols, type Token } from '../lexer/token.ts';
import type { Position } from '../position.ts';
import type { Expression, FunctionDefinition, Statement } from './ast.ts';
import { createFunctionScope, type FunctionScope } from './scope.ts';

/** One pass over the tokens with one token of look-ahead. */
export interface Parser {
  readonly lexer: Lexer;
  token: Token;
  scope: FunctionScope;
  readonly maxDepth: number;
  readonly functions: FunctionDefinition[];
  closures: number;
  /** Inside `fn` or a closure, where `this` may stand. */
  inFunction: boolean;
  /** Top-level variables live on in a session and must be cells. */
  readonly keepsScope: boolean;
  /** Late-bound, because expressions hold statements and statements hold expressions. */
  readonly expression: (parser: Parser, level: number) => Expression;
  readonly statement: (parser: Parser, level: number) => Statement;
}

export function createParser(
  source: string,
  options: { maxDepth: number; keepsScope: boolean },
  grammar: Pick<Parser, 'expression' | 'statement'>,
): Parser {
  const lexer = createLexer(source);
  return {
    lexer,
    token: lexer.next(),
    scope: createFunctionScope(null),
    maxDepth: options.maxDepth,
    functions: [],
    closures: 0,
    inFunction: false,
    keepsScope: options.keepsScope,
    ...grammar,
  };
}

export function advance(parser: Parser): Token {
  const token = parser.token;
  parser.token = parser.lexer.next();
  return token;
}

export const isSymbol = (parser: Parser, text: string): boolean =>
  parser.token.kind === 'symbol' && parser.token.text === text;

export const isKeyword = (parser: Parser, text: string): boolean =>
  parser.token.kind === 'keyword' && parser.token.text === text;

export const atEnd = (parser: Parser): boolean => parser.token.kind === 'end';

export function accept(parser: Parser, symbol: string): boolean {
  if (!isSymbol(parser, symbol)) return false;
  advance(parser);
  return true;
}

export function expect(parser: Parser, symbol: string, purpose: string): Position {
  if (!isSymbol(parser, symbol)) throw missing(symbol, purpose, parser.token.position);
  return advance(parser).position;
}

export const missing = (symbol: string, purpose: string, position: Position) =>
  syntaxFault(`Expecting '${symbol}' ${purpose}`, position);

/** One level of nesting more; the engine counts statements, operands and operators alike. */
export function deeper(parser: Parser, level: number, position: Position): number {
  if (level >= parser.maxDepth) throw syntaxFault('Expression exceeds maximum complexity', position);
  return level + 1;
}

export function unexpected(token: Token) {
  if (token.kind === 'end') return syntaxFault('Script is incomplete', token.position);
  if (token.kind === 'reserved') return reserved(token);
  if (token.kind === 'unknown') return unknownSymbol(token, `'${token.text}' is a reserved symbol`);
  return syntaxFault(`Unexpected '${token.text}'`, token.position);
}

const unknownSymbol = (token: Token, otherwise: string) =>
  syntaxFault(foreignSymbols.get(token.text) ?? otherwise, token.position);

export const unknownOperator = (token: Token) => unknownSymbol(token, `Unknown operator: '${token.text}'`);

export const reserved = (token: Token) =>
  syntaxFault(`'${token.text}' is a reserved keyword`, token.position);

export function takeName(parser: Parser): Token {
  if (parser.token.kind === 'reserved') throw reserved(parser.token);
  if (parser.token.kind !== 'name') throw syntaxFault('Expecting name of a variable', parser.token.position);
  return advance(parser);
}

const nonStarters: ReadonlySet<string> = new Set([';', '}', ',', ')', ']', '=>', ':', '=']);
const expressionKeywords: ReadonlySet<string> = new Set('true false if switch while loop do for'.split(' '));

/** Whether a value follows `return`, `throw` or `break`. */
export function startsExpression(token: Token): boolean {
  if (token.kind === 'end') return false;
  if (token.kind === 'symbol') return !nonStarters.has(token.text);
  return token.kind !== 'keyword' || expressionKeywords.has(token.text);
}

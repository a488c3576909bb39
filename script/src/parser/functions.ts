import { syntaxFault } from '../errors.ts';
import type { Token } from '../lexer/token.ts';
import type { Position } from '../position.ts';
import type { BlockNode, Expression, FunctionDefinition, Variable } from './ast.ts';
import { parseBlock } from './blocks.ts';
import { createFunctionScope, declare, type FunctionScope } from './scope.ts';
import { accept, advance, deeper, isKeyword, isSymbol, missing, type Parser, reserved } from './state.ts';

const receiverNames: ReadonlyMap<string, string> = new Map([
  ['int', 'i64'],
  ['float', 'f64'],
]);

/** `fn name(…) {…}`, at the `fn` or the `private` before it. */
export function parseFunction(parser: Parser): void {
  const start = advance(parser);
  if (start.text === 'private') {
    if (!isKeyword(parser, 'fn')) throw missing('fn', "following 'private'", parser.token.position);
    advance(parser);
  }
  const { name, receiver } = parseFunctionName(parser);
  const definition = inFunction(parser, null, (scope) => {
    const parameters = parseParameters(parser, name);
    if (!isSymbol(parser, '{'))
      throw syntaxFault(`Expecting body statement block for function ${name}`, parser.token.position);
    const body = parseBlock(parser, 2);
    return define(scope, { name, receiver, parameters, body, position: start.position, isClosure: false });
  });
  refuseDuplicate(parser, definition);
  parser.functions.push(definition);
}

function parseFunctionName(parser: Parser): { name: string; receiver: string | null } {
  const first = takeFunctionName(parser, true);
  if (!accept(parser, '.')) {
    if (first.kind === 'string') throw noName(first);
    return { name: first.text, receiver: null };
  }
  return {
    name: takeFunctionName(parser, false).text,
    receiver: receiverNames.get(first.text) ?? first.text,
  };
}

const noName = (token: Token) =>
  syntaxFault('Expecting function name in function declaration', token.position);

function takeFunctionName(parser: Parser, mayBeType: boolean): Token {
  const { token } = parser;
  if (token.kind === 'reserved') throw reserved(token);
  if (token.kind !== 'name' && !(mayBeType && token.kind === 'string')) throw noName(token);
  return advance(parser);
}

function refuseDuplicate(parser: Parser, { name, parameters, receiver, position }: FunctionDefinition): void {
  const count = parameters.length;
  const exists = parser.functions.some(
    (other) => other.name === name && other.parameters.length === count && other.receiver === receiver,
  );
  if (!exists) return;
  const words = count === 0 ? 'no parameters' : count === 1 ? '1 parameter' : `${count} parameters`;
  throw syntaxFault(`Function ${name} with ${words} already exists`, position);
}

function parseParameters(parser: Parser, name: string): Variable[] {
  if (accept(parser, '()')) return [];
  if (!accept(parser, '('))
    throw syntaxFault(`Expecting parameters for function ${name}`, parser.token.position);
  const parameters: Variable[] = [];
  const close = `to close the parameters list of function '${name}'`;
  while (!isSymbol(parser, ')')) {
    parameters.push(parseParameter(parser, parameters, close, `function ${name}`));
    if (accept(parser, ',') || isSymbol(parser, ')')) continue;
    throw missing(',', `to separate the parameters of function '${name}'`, parser.token.position);
  }
  advance(parser);
  return parameters;
}

function parseParameter(parser: Parser, before: Variable[], close: string, owner: string): Variable {
  const { token } = parser;
  if (token.kind === 'reserved') throw reserved(token);
  if (token.kind !== 'name') throw missing(')', close, token.position);
  if (before.some((other) => other.name === token.text))
    throw syntaxFault(`Duplicated parameter ${token.text} for ${owner}`, token.position);
  advance(parser);
  return declare(parser.scope, token.text, false);
}

/** `|a, b| statement`; it sees the variables around it. */
export function parseClosure(parser: Parser, level: number): Expression {
  const { position, text } = advance(parser);
  const inner = deeper(parser, level, position);
  parser.closures += 1;
  const definition = inFunction(parser, parser.scope, (scope) => {
    const parameters = text === '||' ? [] : parseClosureParameters(parser);
    const statement = parser.statement(parser, deeper(parser, inner, parser.token.position));
    const body: BlockNode =
      statement.type === 'block'
        ? statement
        : { type: 'block', statements: [statement], position: statement.position };
    return define(scope, {
      name: closureName(position),
      receiver: null,
      parameters,
      body,
      position,
      isClosure: true,
    });
  });
  return { type: 'closure', definition, position };
}

/** The same script gives the same names: nothing in a run depends on what ran before it. */
const closureName = (position: Position): string => `anon$${position.toString(16).padStart(16, '0')}`;

function parseClosureParameters(parser: Parser): Variable[] {
  const parameters: Variable[] = [];
  const purpose = 'to close the parameters list of anonymous function or closure';
  while (!isSymbol(parser, '|')) {
    const { token } = parser;
    if (token.kind === 'reserved') throw reserved(token);
    if (token.kind !== 'name') throw missing('|', purpose, token.position);
    if (parameters.some((other) => other.name === token.text))
      throw syntaxFault(`Duplicated parameter ${token.text} for anonymous function`, token.position);
    advance(parser);
    parameters.push(declare(parser.scope, token.text, false));
    if (accept(parser, ',') || isSymbol(parser, '|')) continue;
    throw missing(',', 'to separate the parameters of anonymous function', parser.token.position);
  }
  advance(parser);
  return parameters;
}

function inFunction(
  parser: Parser,
  outer: FunctionScope | null,
  parse: (scope: FunctionScope) => FunctionDefinition,
): FunctionDefinition {
  const { scope, inFunction: wasIn } = parser;
  parser.scope = createFunctionScope(outer);
  parser.inFunction = true;
  const definition = parse(parser.scope);
  parser.scope = scope;
  parser.inFunction = wasIn;
  return definition;
}

export const define = (
  scope: FunctionScope,
  parts: Pick<FunctionDefinition, 'name' | 'receiver' | 'parameters' | 'body' | 'position' | 'isClosure'>,
): FunctionDefinition => ({
  ...parts,
  slots: scope.slots,
  captures: scope.captures,
  unresolved: scope.unresolved,
  usesGlobals: scope.usesGlobals,
});

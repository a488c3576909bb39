import { syntaxFault } from '../errors.ts';
import type { Position } from '../position.ts';
import type { ChainStep, Expression } from './ast.ts';
import { requireIndexable } from './literal-types.ts';
import { visibleNames, visibleVariables } from './scope.ts';
import { accept, advance, atEnd, deeper, expect, isSymbol, missing, type Parser, reserved } from './state.ts';

/** `.name`, `.method(…)`, `[index]` and their `?` forms after a primary expression. */
export function parsePostfix(parser: Parser, outer: number, base: Expression): Expression {
  const steps: ChainStep[] = [];
  let level = outer;
  for (;;) {
    const { token } = parser;
    const isStep = token.kind === 'symbol' && ['.', '?.', '[', '?['].includes(token.text);
    if (!isStep) break;
    level = deeper(parser, level, token.position);
    advance(parser);
    const optional = token.text.startsWith('?');
    const step = token.text.endsWith('[')
      ? parseIndex(parser, level, optional, token.position, steps.length === 0 ? base : null)
      : parseMember(parser, level, optional);
    steps.push(step);
  }
  return steps.length === 0 ? base : { type: 'chain', base, steps, position: base.position };
}

function parseIndex(
  parser: Parser,
  level: number,
  optional: boolean,
  position: Position,
  base: Expression | null,
): ChainStep {
  const index = parser.expression(parser, deeper(parser, level, position));
  if (base !== null) requireIndexable(base, index);
  expect(parser, ']', 'for a matching [ in this index expression');
  return { type: 'index', index, optional, position };
}

const methodWords: ReadonlySet<string> = new Set(['call', 'curry', 'type_of', 'is_shared']);

function parseMember(parser: Parser, level: number, optional: boolean): ChainStep {
  const { token } = parser;
  const isWord = token.kind === 'reserved';
  if (isWord && !methodWords.has(token.text)) throw reserved(token);
  if (token.kind !== 'name' && !isWord) throw syntaxFault('Expecting name of a property', token.position);
  advance(parser);
  const { text: name, position } = token;
  if (accept(parser, '()')) return { type: 'method', name, args: [], optional, position };
  if (isSymbol(parser, '(')) {
    const args = parseArguments(parser, level, name);
    return { type: 'method', name, args, optional, position };
  }
  if (isWord) throw reserved(token);
  return { type: 'property', name, optional, position };
}

/** `name(…)` or `name!(…)`; null when no call follows the name. */
export function parseCall(
  parser: Parser,
  level: number,
  name: string,
  position: Position,
): Expression | null {
  const start = parser.token;
  const isBang = isSymbol(parser, '!');
  if (isBang) {
    advance(parser);
    if (!isSymbol(parser, '(') && !isSymbol(parser, '()'))
      throw missing(';', 'to terminate this statement', start.position);
  }
  if (!isSymbol(parser, '(') && !isSymbol(parser, '()')) return null;
  const args = accept(parser, '()') ? [] : parseArguments(parser, level, name);
  return {
    type: 'call',
    name,
    args,
    bang: isBang ? visibleVariables(parser.scope) : null,
    visible: name === 'is_def_var' ? visibleNames(parser.scope) : null,
    position,
  };
}

function parseArguments(parser: Parser, outer: number, name: string): Expression[] {
  const level = deeper(parser, outer, parser.token.position);
  advance(parser);
  const args: Expression[] = [];
  while (!isSymbol(parser, ')')) {
    if (atEnd(parser) && args.length > 0) break;
    args.push(parser.expression(parser, level));
    if (accept(parser, ',') || isSymbol(parser, ')')) continue;
    if (atEnd(parser)) break;
    throw missing(',', `to separate the arguments to function call '${name}'`, parser.token.position);
  }
  expect(parser, ')', `to close the arguments list of this function call '${name}'`);
  return args;
}

/** `space::name`: there are no modules, so only `global` can answer. */
export function parseNamespaced(
  parser: Parser,
  level: number,
  first: string,
  position: Position,
): Expression {
  let space = first;
  let name = '';
  while (accept(parser, '::')) {
    if (parser.token.kind === 'reserved') throw reserved(parser.token);
    if (parser.token.kind !== 'name')
      throw syntaxFault('Expecting name of a variable', parser.token.position);
    if (name !== '') space += `::${name}`;
    name = advance(parser).text;
  }
  parser.scope.usesGlobals = true;
  const node: Expression = { type: 'global', space, name, position };
  if (space === 'global' && (isSymbol(parser, '(') || isSymbol(parser, '()'))) {
    const call = parseCall(parser, level, name, position);
    if (call !== null) return call;
  }
  if (accept(parser, '()') || !isSymbol(parser, '(')) return node;
  parseArguments(parser, level, name);
  return node;
}

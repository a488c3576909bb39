import { syntaxFault } from '../errors.ts';
import type { Token } from '../lexer/token.ts';
import type { Expression } from './ast.ts';
import { accept, advance, atEnd, deeper, isSymbol, missing, type Parser, reserved } from './state.ts';

export function parseArray(parser: Parser, level: number): Expression {
  const { position } = advance(parser);
  const items: Expression[] = [];
  while (!isSymbol(parser, ']')) {
    if (atEnd(parser)) throw missing(']', 'to end this array literal', parser.token.position);
    items.push(parser.expression(parser, deeper(parser, level, parser.token.position)));
    if (accept(parser, ',') || isSymbol(parser, ']')) continue;
    if (atEnd(parser)) throw missing(']', 'to end this array literal', parser.token.position);
    throw missing(',', 'to separate the items of this array literal', parser.token.position);
  }
  advance(parser);
  return { type: 'array', items, position };
}

export function parseMap(parser: Parser, level: number): Expression {
  const { position } = advance(parser);
  const keys: string[] = [];
  const values: Expression[] = [];
  while (!isSymbol(parser, '}')) {
    const key = parseKey(parser);
    if (keys.includes(key.text))
      throw syntaxFault(`Duplicated property for object map literal: ${key.text}`, key.position);
    if (!accept(parser, ':'))
      throw missing(
        ':',
        `to follow the property '${key.text}' in this object map literal`,
        parser.token.position,
      );
    keys.push(key.text);
    values.push(parser.expression(parser, deeper(parser, level, parser.token.position)));
    if (accept(parser, ',') || isSymbol(parser, '}')) continue;
    const { kind, position: at } = parser.token;
    if (kind === 'name' || kind === 'string')
      throw missing(',', 'to separate the items of this object map literal', at);
    throw missing('}', 'to end this object map literal', at);
  }
  advance(parser);
  return { type: 'map', keys, values, position };
}

function parseKey(parser: Parser): Token {
  const { token } = parser;
  if (token.kind === 'reserved') throw reserved(token);
  if (token.kind === 'template' && token.open)
    throw syntaxFault('Expecting name of a property', token.position);
  if (token.kind === 'name' || token.kind === 'string' || token.kind === 'template') return advance(parser);
  throw missing('}', 'to end this object map literal', token.position);
}

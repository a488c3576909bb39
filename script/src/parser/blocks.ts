import type { BlockNode, Statement } from './ast.ts';
import { enterBlock, leaveBlock } from './scope.ts';
import { accept, advance, atEnd, deeper, isSymbol, missing, type Parser, unknownOperator } from './state.ts';

export function parseBlock(parser: Parser, level: number): BlockNode {
  if (!isSymbol(parser, '{')) throw missing('{', 'to start a statement block', parser.token.position);
  const { position } = advance(parser);
  const statements = parseStatements(parser, level);
  advance(parser);
  return { type: 'block', statements, position };
}

/** Up to the `}` that ends them, which stays. */
export function parseStatements(parser: Parser, level: number): Statement[] {
  const statements: Statement[] = [];
  const mark = enterBlock(parser.scope);
  while (!isSymbol(parser, '}')) {
    if (atEnd(parser)) throw missing('}', 'to terminate this block', parser.token.position);
    const statement = parser.statement(parser, deeper(parser, level, parser.token.position));
    statements.push(statement);
    if (isSymbol(parser, '}')) break;
    if (atEnd(parser)) throw missing('}', 'to terminate this block', parser.token.position);
    endStatement(parser, statement);
  }
  leaveBlock(parser.scope, mark);
  return statements;
}

const selfTerminated: ReadonlySet<Statement['type']> = new Set([
  'if',
  'switch',
  'loop',
  'for',
  'try',
  'block',
  'empty',
]);

/** A `;`, unless the statement ends by itself. */
export function endStatement(parser: Parser, statement: Statement): void {
  if (accept(parser, ';')) return;
  const isDo = statement.type === 'loop' && !statement.testFirst;
  if (selfTerminated.has(statement.type) && !isDo) return;
  if (parser.token.kind === 'unknown') throw unknownOperator(parser.token);
  throw missing(';', 'to terminate this statement', parser.token.position);
}

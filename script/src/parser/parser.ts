import type { FunctionDefinition, NameUse, Script, Statement, Variable } from './ast.ts';
import { endStatement } from './blocks.ts';
import { parseExpression } from './expressions.ts';
import { define, parseFunction } from './functions.ts';
import { declare } from './scope.ts';
import { atEnd, createParser, isKeyword, type Parser } from './state.ts';
import { parseExport, parseLet, parseStatement } from './statements.ts';

export interface ParseOptions {
  readonly maxDepth: number;
  /** Variables of a session, in the slots from 1 on; null when nothing outlives the script. */
  readonly session: readonly { readonly name: string; readonly constant: boolean }[] | null;
}

export function parse(source: string, options: ParseOptions): Script {
  const parser = createParser(
    source,
    { maxDepth: options.maxDepth, keepsScope: options.session !== null },
    { expression: parseExpression, statement: parseStatement },
  );
  const parameters = (options.session ?? []).map(({ name, constant }) =>
    declare(parser.scope, name, constant, true),
  );
  const statements: Statement[] = [];
  while (!atEnd(parser)) {
    const statement = parseTopLevel(parser);
    if (statement === null) continue;
    statements.push(statement);
    if (!atEnd(parser)) endStatement(parser, statement);
  }
  const body = { type: 'block', statements, position: 0 } as const;
  const main = define(parser.scope, {
    name: '',
    receiver: null,
    parameters,
    body,
    position: 0,
    isClosure: false,
  });
  return { main, functions: parser.functions, hasClosures: parser.closures > 0 };
}

/** Null for a function, which is no statement. */
function parseTopLevel(parser: Parser): Statement | null {
  if (isKeyword(parser, 'fn') || isKeyword(parser, 'private')) {
    parseFunction(parser);
    return null;
  }
  if (isKeyword(parser, 'let') || isKeyword(parser, 'const')) return parseLet(parser, 1, true);
  if (isKeyword(parser, 'export')) return parseExport(parser, 1);
  return parseStatement(parser, 1);
}

/** The variables of the caller that `f!(…)` may reach from the body of `f`. */
export function reachable(
  definition: FunctionDefinition,
  visible: ReadonlyMap<string, Variable>,
): readonly Variable[] {
  const names = new Set(definition.unresolved.map((use: NameUse) => use.name));
  return [...names].flatMap((name) => visible.get(name) ?? []);
}

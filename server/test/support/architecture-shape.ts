// Rules about the shape of files: how long, what they export, how they are named, what they silence.
import type { Node } from 'oxc-parser';
import { isTestFile, type NodeAt, type SourceFile, type SourceMap, violation } from './source-graph.ts';

export const MAX_FILE_LINES = 400;
export const MAX_TEST_FILE_LINES = 500;
export const MAX_FUNCTION_LINES = 60;
export const MAX_MEDIAN_FILE_LINES = 150;

export interface Medians {
  readonly files: number;
  readonly fileLines: number;
  readonly functions: number;
  readonly functionLines: number;
}

export function checkSyntax(sources: SourceMap): string[] {
  return each(sources, ({ path, syntaxErrors }) => syntaxErrors.map((message) => `${path}: ${message}`));
}

export function checkSizes(sources: SourceMap): string[] {
  return each(sources, (source) => [...oversizedFile(source), ...oversizedFunctions(source)]);
}

export function checkMedians(medians: Medians): string[] {
  return medians.fileLines > MAX_MEDIAN_FILE_LINES
    ? [`the median file has ${medians.fileLines} lines, more than ${MAX_MEDIAN_FILE_LINES}`]
    : [];
}

/** Over what ships: tests would pull both medians wherever their authors like. */
export function mediansOf(sources: SourceMap): Medians {
  const shipped = [...sources.values()].filter(({ path }) => !isTestFile(path));
  const functions = shipped.flatMap((source) => functionsOf(source).map(({ node }) => linesOf(source, node)));
  return {
    files: shipped.length,
    fileLines: median(shipped.map(({ lineCount }) => lineCount)),
    functions: functions.length,
    functionLines: median(functions),
  };
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / Math.max(middle.length, 1);
}

function each(sources: SourceMap, check: (source: SourceFile) => string[]): string[] {
  return [...sources.values()].flatMap(check);
}

function oversizedFile({ path, lineCount }: SourceFile): string[] {
  const limit = isTestFile(path) ? MAX_TEST_FILE_LINES : MAX_FILE_LINES;
  return lineCount > limit ? [`${path}: ${lineCount} lines, more than ${limit}`] : [];
}

function oversizedFunctions(source: SourceFile): string[] {
  if (isTestFile(source.path)) return [];
  return functionsOf(source)
    .filter((at) => !isTestBlock(at.parent) && linesOf(source, at.node) > MAX_FUNCTION_LINES)
    .map(({ node }) => {
      const lines = linesOf(source, node);
      return violation(source, node, `a function of ${lines} lines, more than ${MAX_FUNCTION_LINES}`);
    });
}

function functionsOf(source: SourceFile): NodeAt[] {
  return source.nodes.filter(({ node }) =>
    /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type),
  );
}

const linesOf = (source: SourceFile, node: Node): number =>
  source.lineAt(node.end) - source.lineAt(node.start) + 1;

/** Shared suites (`describe(…)` in a file that tests import) are test code although they are no *.test.ts. */
function isTestBlock(parent: Node | null): boolean {
  if (parent?.type !== 'CallExpression') return false;
  const { callee } = parent;
  const name =
    callee.type === 'MemberExpression' || callee.type === 'CallExpression' ? innermost(callee) : callee;
  return name.type === 'Identifier' && /^(describe|it|test)$/.test(name.name);
}

/** The `describe` of `describe.each(rows)` and the like. */
function innermost(node: Node): Node {
  if (node.type === 'MemberExpression') return innermost(node.object);
  return node.type === 'CallExpression' ? innermost(node.callee) : node;
}

/** Files that a tool loads and whose default export it asks for. */
const isConfigFile = (path: string): boolean =>
  /\.config\.ts$/.test(path) || /^server\/test\/support\/[^/]+-setup\.ts$/.test(path);

export function checkExports(sources: SourceMap): string[] {
  return each(sources, (source) => [
    ...(isConfigFile(source.path) ? [] : source.body.filter(isDefaultExport)).map((node) =>
      violation(source, node, 'a default export; export by name'),
    ),
    ...(isBarrel(source) ? [`${source.path}: a barrel: it holds only re-exports`] : []),
  ]);
}

function isDefaultExport(node: Node): boolean {
  if (node.type === 'ExportDefaultDeclaration') return true;
  return (
    node.type === 'ExportNamedDeclaration' &&
    node.specifiers.some(({ exported }) => exported.type === 'Identifier' && exported.name === 'default')
  );
}

function isBarrel({ body }: SourceFile): boolean {
  return body.some(isReExport) && body.every((node) => isReExport(node) || node.type === 'ImportDeclaration');
}

const isReExport = (node: Node): boolean =>
  node.type === 'ExportAllDeclaration' ||
  (node.type === 'ExportNamedDeclaration' && node.declaration === null && node.specifiers.length > 0);

const NAMELESS = /^(utils?|helpers?|misc|common)$/i;
/** The shared shapes of the contract (ids, pages, times) have no narrower name. */
const NAMELESS_ALLOWED = 'contract/src/common.ts';

export function checkNames(sources: SourceMap): string[] {
  return [...sources.keys()]
    .filter((path) => path.replace('.test.', '.') !== NAMELESS_ALLOWED)
    .filter((path) => path.split(/[/.-]/).some((word) => NAMELESS.test(word)))
    .map((path) => `${path}: a name that says nothing about the content`);
}

export function checkSilencers(sources: SourceMap): string[] {
  return each(sources, (source) => [...unexplainedAny(source), ...silencingComments(source)]);
}

function unexplainedAny(source: SourceFile): string[] {
  const explained = new Set(source.comments.map(({ end }) => source.lineAt(end - 1)));
  return source.nodes
    .filter(({ node }) => node.type === 'TSAnyKeyword')
    .filter(({ node }) => [0, -1].every((offset) => !explained.has(source.lineAt(node.start) + offset)))
    .map(({ node }) => violation(source, node, '`any` without a comment that says why'));
}

function silencingComments(source: SourceFile): string[] {
  return source.comments
    .filter(({ value }) => /^[\s*/]*@ts-(ignore|nocheck)\b/.test(value))
    .map((comment) =>
      violation(source, comment, 'silences the type checker; use @ts-expect-error with a reason'),
    );
}

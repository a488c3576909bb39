// The parsed source trees that the architecture rules look at. Rules take a SourceMap and never the disk, so that a
// test can hand them a mutant written in a few lines.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import type { Comment, Node } from 'oxc-parser';
import { parseSync, visitorKeys } from 'oxc-parser';
import { importsOf, type SourceImport } from './source-imports.ts';

export interface NodeAt {
  readonly node: Node;
  readonly parent: Node | null;
}

export interface SourceFile {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly lineCount: number;
  readonly body: readonly Node[];
  /** Every node of the file, parents before children, in source order. */
  readonly nodes: readonly NodeAt[];
  readonly comments: readonly Comment[];
  readonly imports: readonly SourceImport[];
  readonly syntaxErrors: readonly string[];
  readonly lineAt: (offset: number) => number;
}

export type SourceMap = ReadonlyMap<string, SourceFile>;

export const SHIPPED_TREES = ['contract/src', 'script/src', 'server/src', 'cli/src', 'web/src'];
export const SUPPORTING_TREES = ['server/test', 'bench', 'scripts'];

export const isTestFile = (path: string): boolean => /\.test\.tsx?$/.test(path);

export function violation(source: SourceFile, at: { start: number }, message: string): string {
  return `${source.path}:${source.lineAt(at.start)}: ${message}`;
}

export function parseSources(texts: Readonly<Record<string, string>>): SourceMap {
  return new Map(Object.entries(texts).map(([path, text]) => [path, parseSource(path, text)]));
}

export function readSources(root: string, trees: readonly string[]): SourceMap {
  const texts: Record<string, string> = {};
  for (const tree of trees) {
    if (!existsSync(join(root, tree))) continue;
    for (const file of readdirSync(join(root, tree), { recursive: true, encoding: 'utf8' })) {
      if (!/\.tsx?$/.test(file)) continue;
      const path = posix.join(tree, file.split(sep).join('/'));
      texts[path] = readFileSync(join(root, path), 'utf8');
    }
  }
  return parseSources(texts);
}

function parseSource(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text, { preserveParens: false });
  const lineAt = createLineLookup(text);
  const nodes = flatten(program);
  return {
    path,
    lineCount: text === '' ? 0 : lineAt(text.length - 1),
    body: program.body,
    nodes,
    comments,
    imports: importsOf(path, nodes, lineAt),
    syntaxErrors: errors.map((error) => error.message),
    lineAt,
  };
}

function createLineLookup(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

function flatten(root: Node): NodeAt[] {
  const nodes: NodeAt[] = [];
  const visit = (node: Node, parent: Node | null): void => {
    nodes.push({ node, parent });
    for (const child of childrenOf(node)) visit(child, node);
  };
  visit(root, null);
  return nodes;
}

function childrenOf(node: Node): Node[] {
  const members = new Map<string, unknown>(Object.entries(node));
  return (visitorKeys[node.type] ?? []).flatMap((key) => [members.get(key)].flat()).filter(isNode);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

// What a source file imports: static, re-exporting and dynamic imports, each told apart as value or type.
import { posix } from 'node:path';
import type { ExportNamedDeclaration, ImportDeclaration, ModuleExportName, Node } from 'oxc-parser';
import type { NodeAt } from './source-graph.ts';

export interface SourceImport {
  readonly specifier: string;
  readonly line: number;
  readonly kind: 'value' | 'type';
  /** Names as the imported module calls them; `*` stands for the whole module. Type specifiers are left out of a value import. */
  readonly names: readonly string[];
  /** The repository path of the imported file, or null for a package from outside the repository. */
  readonly path: string | null;
}

/** The specifier of a dynamic import whose target only the running program knows. */
export const COMPUTED_SPECIFIER = '<computed>';

type Found = Pick<SourceImport, 'specifier' | 'kind' | 'names'>;

export function importsOf(
  importer: string,
  nodes: readonly NodeAt[],
  lineAt: (offset: number) => number,
): SourceImport[] {
  return nodes.flatMap(({ node }) => {
    const found = readImport(node);
    return found
      ? [{ ...found, line: lineAt(node.start), path: repositoryPath(importer, found.specifier) }]
      : [];
  });
}

function readImport(node: Node): Found | null {
  if (node.type === 'ImportDeclaration') return { specifier: node.source.value, ...importedNames(node) };
  if (node.type === 'ExportNamedDeclaration' && node.source) {
    return { specifier: node.source.value, ...reExportedNames(node) };
  }
  if (node.type === 'ExportAllDeclaration') {
    const kind = node.exportKind === 'type' ? 'type' : 'value';
    return { specifier: node.source.value, kind, names: ['*'] };
  }
  if (node.type === 'ImportExpression') {
    return { specifier: dynamicSpecifier(node.source), kind: 'value', names: ['*'] };
  }
  return node.type === 'TSImportType' ? { specifier: node.source.value, kind: 'type', names: ['*'] } : null;
}

function reExportedNames(node: ExportNamedDeclaration): Pick<Found, 'kind' | 'names'> {
  const values = node.specifiers.filter((specifier) => specifier.exportKind !== 'type');
  const isType = node.exportKind === 'type' || (node.specifiers.length > 0 && values.length === 0);
  const names = (isType ? node.specifiers : values).map((specifier) => exportName(specifier.local));
  return { kind: isType ? 'type' : 'value', names };
}

function importedNames(node: ImportDeclaration): Pick<Found, 'kind' | 'names'> {
  const values = node.specifiers.filter((s) => s.type !== 'ImportSpecifier' || s.importKind !== 'type');
  const isType = node.importKind === 'type' || (node.specifiers.length > 0 && values.length === 0);
  const names = (isType ? node.specifiers : values).map((specifier) => {
    if (specifier.type === 'ImportSpecifier') return exportName(specifier.imported);
    return specifier.type === 'ImportNamespaceSpecifier' ? '*' : 'default';
  });
  return { kind: isType ? 'type' : 'value', names };
}

function dynamicSpecifier(source: Node): string {
  if (source.type === 'Literal' && typeof source.value === 'string') return source.value;
  if (source.type !== 'TemplateLiteral') return COMPUTED_SPECIFIER;
  const [head, ...more] = source.quasis;
  const prefix = head?.value.cooked ?? '';
  if (more.length === 0) return prefix;
  // A platform-dependent package (`@vendor/${platform}`) is still visibly no file of this repository.
  return /^(@(?!lintel\/)[^/]+\/|node:|[a-z][^/:]*\/)/.test(prefix) ? prefix : COMPUTED_SPECIFIER;
}

const exportName = (name: ModuleExportName): string => (name.type === 'Literal' ? name.value : name.name);

function repositoryPath(importer: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(importer), specifier);
  const own = /^@lintel\/([^/]+)(?:\/(.+))?$/.exec(specifier);
  return own ? `${own[1]}/src/${own[2] ?? 'index'}.ts` : null;
}
